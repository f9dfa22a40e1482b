#include "chief/state/shard_calls.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/wire_version.h"
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

// Training stands still until these are answered, and a shard that refuses them may have the view
// that it lacks in a moment: they are repeated sooner.
bool Hurries(Purpose purpose) { return purpose == Purpose::kMove || purpose == Purpose::kRelease; }

// Returns true if the call ends with this refusal, as the duty that has asked has an answer to it.
// A refusal because the shard may not have seen the newest view yet (FAILED_PRECONDITION) is
// repeated all the same, up to kMaxRefusals times.
bool EndsTheCall(Purpose purpose, const absl::Status& status, int refusals) {
  switch (purpose) {
    case Purpose::kSave:
    case Purpose::kLoad:
    case Purpose::kJoin:
    case Purpose::kMove:
      return status.code() != absl::StatusCode::kFailedPrecondition || refusals >= kMaxRefusals;
    case Purpose::kHold:
    case Purpose::kCommit:
    case Purpose::kRelease:
    case Purpose::kFlush:
    case Purpose::kClose:
      return false;
  }
  return false;
}

// The process that a call goes to.
struct Callee {
  const std::string* address = nullptr;
  uint64_t incarnation = 0;
};

std::optional<Callee> CalleeOf(const v1::View& view, uint32_t shard) {
  for (const v1::ShardInfo& info : view.shards()) {
    if (info.index() == shard) return Callee{&info.address(), info.incarnation()};
  }
  return std::nullopt;
}

std::optional<Callee> CalleeOf(const ShardTable& shards, uint32_t index) {
  const Shard* shard = shards.Find(index);
  if (shard == nullptr || !shard->present) return std::nullopt;
  return Callee{&shard->address, Raw(shard->incarnation)};
}

void SetHeader(const v1::View& view, uint64_t incarnation, ShardRequest& request) {
  std::visit(
      [&](auto& message) {
        v1::RequestHeader& header = *message.mutable_header();
        header.set_wire_version(kWireVersion);
        *header.mutable_epoch() = view.epoch();
        header.set_timeline(view.timeline());
        header.set_target_incarnation(incarnation);
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

std::vector<CallShard> ShardCalls::TakeDue(const v1::View& view, const ShardTable& shards,
                                           absl::Time now) {
  std::vector<CallShard> due;
  for (auto& [key, call] : calls_) {
    const bool joins = key.first == Purpose::kJoin;
    const std::optional<Callee> callee =
        joins ? CalleeOf(shards, key.second) : CalleeOf(view, key.second);
    if (!callee) continue;
    const bool replaced = call.incarnation != 0 && call.incarnation != callee->incarnation;
    if (!replaced && (call.attempt != 0 || now < call.due)) continue;
    call.attempt = ++attempts_;
    call.incarnation = callee->incarnation;
    CallShard action;
    action.call = call.attempt;
    action.shard = key.second;
    action.address = *callee->address;
    action.incarnation = callee->incarnation;
    action.deadline = call.deadline;
    action.request = call.request;
    SetHeader(view, callee->incarnation, action.request);
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
  const bool hurries = Hurries(purpose) && call.failures < kQuickRepeats;
  const bool refused = !reply.ok() && !IsAbsence(reply.status());
  if (refused && !hurries) ++call.refusals;
  if (reply.ok() || (refused && EndsTheCall(purpose, reply.status(), call.refusals))) {
    Answer answer{purpose, shard, call.incarnation, std::move(reply)};
    calls_.erase(found);
    return answer;
  }
  ++call.failures;
  call.last = reply.status();
  call.due =
      now + (hurries ? kQuickPause : PauseAfter(call.failures, kFirstCallPause, kLongestCallPause));
  return std::nullopt;
}

void ShardCalls::Cancel(Purpose purpose) {
  std::erase_if(calls_, [purpose](const auto& call) { return call.first.first == purpose; });
}

absl::Time ShardCalls::NextDue(Purpose purpose) const {
  absl::Time next = absl::InfiniteFuture();
  for (auto call = calls_.lower_bound({purpose, 0});
       call != calls_.end() && call->first.first == purpose; ++call) {
    if (call->second.attempt == 0) next = std::min(next, call->second.due);
  }
  return next;
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
    case Purpose::kJoin:
      return "LoadPartitions";
    case Purpose::kMove:
      return "MovePartitions";
  }
  return "";
}

}  // namespace capstan::chief
