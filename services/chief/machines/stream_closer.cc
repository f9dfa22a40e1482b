#include "chief/machines/stream_closer.h"

#include <algorithm>
#include <limits>

namespace capstan::chief {
namespace {

constexpr uint64_t kClosesPerCall = 1000;

}  // namespace

void StreamCloser::Advance(const std::set<uint32_t>& shards, absl::Duration deadline,
                           ShardCalls& calls) {
  if (closes_.empty()) return;
  const uint64_t end = first_ + closes_.size();
  std::erase_if(told_, [&shards](const auto& told) { return !shards.contains(told.first); });
  ForgetConfirmed();
  for (uint32_t shard : shards) {
    Told& told = told_.try_emplace(shard, Told{first_, first_}).first->second;
    if (told.until == end || calls.Pending<v1::CloseStreamsRequest>(shard)) continue;
    told.sent = std::min(end, told.until + kClosesPerCall);
    v1::CloseStreamsRequest request;
    for (uint64_t i = told.until; i < told.sent; ++i) *request.add_streams() = closes_[i - first_];
    calls.Send(shard, std::move(request), {.deadline = deadline});
  }
}

void StreamCloser::OnClosed(uint32_t shard) {
  const auto answered = told_.find(shard);
  if (answered == told_.end()) return;
  answered->second.until = answered->second.sent;
  ForgetConfirmed();
}

void StreamCloser::ForgetConfirmed() {
  if (told_.empty()) return;
  uint64_t all = std::numeric_limits<uint64_t>::max();
  for (const auto& [index, told] : told_) all = std::min(all, told.until);
  for (; first_ < all && !closes_.empty(); ++first_) closes_.pop_front();
}

std::vector<v1::StreamClose> StreamCloser::TakeAll() {
  std::vector<v1::StreamClose> all(closes_.begin(), closes_.end());
  *this = StreamCloser();
  return all;
}

}  // namespace capstan::chief
