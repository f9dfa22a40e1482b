#include "chief/state/shard_calls.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/wire_version.h"
#include "chief/state/pause.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kFirstCallPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestCallPause = absl::Seconds(2);
// A shard that has not seen the newest view yet refuses a few times.
constexpr int kMaxRefusals = 10;

bool IsAbsence(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kDeadlineExceeded ||
         status.code() == absl::StatusCode::kCancelled;
}

// A checkpoint or a recovery has an answer to a refusal of its own. What a shard refuses because it
// has not seen the newest view is repeated all the same.
bool EndsTheCall(Purpose purpose, const absl::Status& status, int refusals) {
  if (purpose != Purpose::kSave && purpose != Purpose::kLoad) return false;
  return status.code() != absl::StatusCode::kFailedPrecondition || refusals >= kMaxRefusals;
}

const v1::ShardInfo* InfoOf(const v1::View& view, uint32_t shard) {
  for (const v1::ShardInfo& info : view.shards()) {
    if (info.index() == shard) return &info;
  }
  return nullptr;
}

void SetHeader(const v1::View& view, const v1::ShardInfo& info, ShardRequest& request) {
  std::visit(
      [&](auto& message) {
        v1::RequestHeader& header = *message.mutable_header();
        header.set_wire_version(kWireVersion);
        *header.mutable_epoch() = view.epoch();
        header.set_timeline(view.timeline());
        header.set_target_incarnation(info.incarnation());
      },
      request);
}

}  // namespace

void ShardCalls::Send(Purpose purpose, uint32_t shard, ShardRequest request,
                      absl::Duration deadline, absl::Time due) {
  Call call;
  call.request = std::move(request);
  call.deadline = deadline;
  call.due = due;
  calls_[{purpose, shard}] = std::move(call);
}

std::vector<CallShard> ShardCalls::TakeDue(const v1::View& view, absl::Time now) {
  std::vector<CallShard> due;
  for (auto& [key, call] : calls_) {
    const v1::ShardInfo* info = InfoOf(view, key.second);
    if (info == nullptr) continue;
    const bool replaced = call.incarnation != 0 && call.incarnation != info->incarnation();
    if (!replaced && (call.attempt != 0 || now < call.due)) continue;
    call.attempt = ++attempts_;
    call.incarnation = info->incarnation();
    CallShard action;
    action.call = call.attempt;
    action.shard = key.second;
    action.address = info->address();
    action.incarnation = info->incarnation();
    action.deadline = call.deadline;
    action.request = call.request;
    SetHeader(view, *info, action.request);
    due.push_back(std::move(action));
  }
  return due;
}

std::optional<ShardCalls::Answer> ShardCalls::OnReply(uint64_t attempt,
                                                      absl::StatusOr<ShardReply> reply,
                                                      absl::Time now) {
  const auto found = std::find_if(calls_.begin(), calls_.end(), [attempt](const auto& call) {
    return call.second.attempt == attempt;
  });
  if (found == calls_.end()) return std::nullopt;
  Call& call = found->second;
  call.attempt = 0;
  const auto [purpose, shard] = found->first;
  const bool refused = !reply.ok() && !IsAbsence(reply.status());
  if (refused) ++call.refusals;
  if (reply.ok() || (refused && EndsTheCall(purpose, reply.status(), call.refusals))) {
    Answer answer{purpose, shard, call.incarnation, std::move(reply)};
    calls_.erase(found);
    return answer;
  }
  ++call.failures;
  call.last = reply.status();
  call.due = now + PauseAfter(call.failures, kFirstCallPause, kLongestCallPause);
  return std::nullopt;
}

void ShardCalls::Cancel(Purpose purpose) {
  std::erase_if(calls_, [purpose](const auto& call) { return call.first.first == purpose; });
}

bool ShardCalls::Pending(Purpose purpose) const {
  const auto first = calls_.lower_bound({purpose, 0});
  return first != calls_.end() && first->first.first == purpose;
}

bool ShardCalls::Pending(Purpose purpose, uint32_t shard) const {
  return calls_.contains({purpose, shard});
}

absl::Status ShardCalls::Refusal() const {
  for (const auto& [key, call] : calls_) {
    if (call.refusals < kMaxRefusals) continue;
    return absl::Status(call.last.code(),
                        absl::StrCat("shard ", key.second, " refuses ", NameOf(key.first), ": ",
                                     call.last.message()));
  }
  return absl::OkStatus();
}

std::string NameOf(Purpose purpose) {
  switch (purpose) {
    case Purpose::kHold:
    case Purpose::kRelease:
      return "HoldRounds";
    case Purpose::kCommit:
      return "CommitRound";
    case Purpose::kFlush:
      return "Flush";
    case Purpose::kClose:
      return "CloseStreams";
    case Purpose::kSave:
      return "SavePartitions";
    case Purpose::kLoad:
      return "LoadPartitions";
  }
  return "";
}

}  // namespace capstan::chief
