#include "chief/state/shard_calls.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/wire_version.h"
#include "capstan/v1/common.pb.h"
#include "chief/state/pause.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kFirstCallPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestCallPause = absl::Seconds(2);
constexpr absl::Duration kQuickPause = absl::Milliseconds(10);
constexpr int kQuickRepeats = 10;
// A shard that has not seen the newest view yet refuses a few times.
constexpr int kMaxRefusals = 10;

bool IsAbsence(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kDeadlineExceeded ||
         status.code() == absl::StatusCode::kCancelled;
}

// Returns true if a refusal ends a call that may be refused. A refusal that may be due to a missing
// view (FAILED_PRECONDITION) ends it only after it has come kMaxRefusals times.
bool IsFinal(const absl::Status& refusal, int refusals) {
  return refusal.code() != absl::StatusCode::kFailedPrecondition || refusals >= kMaxRefusals;
}

// The process to which a call is sent.
struct Destination {
  const std::string* address = nullptr;
  uint64_t incarnation = 0;
};

std::optional<Destination> DestinationOf(const v1::View& view, uint32_t shard) {
  for (const v1::ShardInfo& info : view.shards()) {
    if (info.index() == shard) return Destination{&info.address(), info.incarnation()};
  }
  return std::nullopt;
}

std::optional<Destination> DestinationOf(const ShardTable& shards, uint32_t index) {
  const Shard* shard = shards.Find(index);
  if (shard == nullptr || !shard->present) return std::nullopt;
  return Destination{&shard->address, Raw(shard->incarnation)};
}

v1::RequestHeader HeaderOf(const v1::View& view, uint64_t incarnation) {
  v1::RequestHeader header;
  header.set_wire_version(kWireVersion);
  *header.mutable_epoch() = view.epoch();
  header.set_timeline(view.timeline());
  header.set_target_incarnation(incarnation);
  return header;
}

// Returns the request with this header. Every request to a shard has a field for it.
ShardRequest WithHeader(const ShardRequest& request, const v1::RequestHeader& header) {
  std::unique_ptr<google::protobuf::Message> message(request->New());
  message->CopyFrom(*request);
  const google::protobuf::FieldDescriptor* const field =
      message->GetDescriptor()->FindFieldByName("header");
  CAPSTAN_CHECK(field != nullptr && field->message_type() == header.GetDescriptor());
  message->GetReflection()->MutableMessage(message.get(), field)->CopyFrom(header);
  return ShardRequest(std::move(message));
}

}  // namespace

std::vector<CallShard> ShardCalls::TakeDue(const v1::View& view, const ShardTable& shards,
                                           absl::Time now) {
  std::vector<CallShard> due;
  for (auto& [key, call] : calls_) {
    const std::optional<Destination> to = key.callee == Callee::kRegistered
                                              ? DestinationOf(shards, key.shard)
                                              : DestinationOf(view, key.shard);
    if (!to) continue;
    const bool replaced = call.incarnation != 0 && call.incarnation != to->incarnation;
    if (!replaced && (call.attempt != 0 || now < call.options.due)) continue;
    call.attempt = ++attempts_;
    call.incarnation = to->incarnation;
    due.push_back({.call = call.attempt,
                   .shard = key.shard,
                   .address = *to->address,
                   .incarnation = to->incarnation,
                   .deadline = call.options.deadline,
                   .request = WithHeader(call.request, HeaderOf(view, to->incarnation))});
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
  const Key& key = found->first;
  Call& call = found->second;
  call.attempt = 0;
  const bool hurries = call.options.hurries && call.failures < kQuickRepeats;
  const bool refused = !reply.ok() && !IsAbsence(reply.status());
  if (refused && !hurries) ++call.refusals;
  if (reply.ok() ||
      (refused && call.options.may_be_refused && IsFinal(reply.status(), call.refusals))) {
    Answer answer{.request = std::move(call.request),
                  .callee = key.callee,
                  .shard = key.shard,
                  .incarnation = call.incarnation,
                  .reply = absl::StatusOr<ShardReply>()};
    answer.reply = std::move(reply);  // GCC 12 warns of a reply that is constructed from another.
    calls_.erase(found);
    return answer;
  }
  ++call.failures;
  call.last = reply.status();
  call.options.due =
      now + (hurries ? kQuickPause : PauseAfter(call.failures, kFirstCallPause, kLongestCallPause));
  return std::nullopt;
}

absl::Time ShardCalls::NextHurried() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [key, call] : calls_) {
    if (call.options.hurries && call.attempt == 0) next = std::min(next, call.options.due);
  }
  return next;
}

absl::Status ShardCalls::Refusal() const {
  for (const auto& [key, call] : calls_) {
    if (call.refusals < kMaxRefusals) continue;
    const google::protobuf::MethodDescriptor& rpc = MethodOf(*call.request->GetDescriptor());
    return absl::Status(call.last.code(), absl::StrCat("shard ", key.shard, " refuses ", rpc.name(),
                                                       ": ", call.last.message()));
  }
  return absl::OkStatus();
}

std::string ShardCalls::DebugString(absl::Time now) const {
  std::string text;
  for (const auto& [key, call] : calls_) {
    const bool registered = key.callee == Callee::kRegistered;
    absl::StrAppend(&text, text.empty() ? "" : " ", MethodOf(*call.request->GetDescriptor()).name(),
                    registered ? " to newcomer " : " to ", key.shard);
    if (call.attempt != 0) continue;
    const absl::Duration left = std::max(call.options.due - now, absl::ZeroDuration());
    absl::StrAppend(&text, " in ", absl::FormatDuration(left));
  }
  return text;
}

}  // namespace capstan::chief
