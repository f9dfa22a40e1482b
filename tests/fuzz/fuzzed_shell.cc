#include "tests/fuzz/fuzzed_shell.h"

#include <algorithm>
#include <set>

#include "capstan/base/bounded_seconds.h"
#include "capstan/consistency/decisions.h"
#include "capstan/v1/ps.pb.h"
#include "tests/fuzz/messages.h"
#include "worker/session/round_calls.h"

namespace capstan::worker {
namespace {

template <typename T>
T TakeFirst(std::deque<T>& from) {
  T first = std::move(from.front());
  from.pop_front();
  return first;
}

}  // namespace

bool FuzzedShell::Hear(Answer kind, std::string_view message) {
  switch (kind) {
    case Answer::kOpenRound:
      if (opens_.empty()) return false;
      return HearRounds<v1::OpenRoundReply>(message, TakeFirst(opens_).ticket);
    case Answer::kReportLane:
      if (reports_.empty()) return false;
      return HearRounds<v1::ReportLaneReply>(message, TakeFirst(reports_));
    case Answer::kPush:
      return HearPush(message);
    case Answer::kRead:
      return HearRead(message);
    case Answer::kPulled:
      if (pulls_.empty()) return false;
      events_->Deliver(PullDone{.ticket = TakeFirst(pulls_)});
      return true;
    case Answer::kComputed:
      return HearComputed(message);
    case Answer::kClock:
      if (clocks_.empty()) return false;
      events_->Deliver(ClockDone{.ticket = TakeFirst(clocks_)});
      return true;
    case Answer::kFailed:
      return HearFailure(message);
  }
  return false;
}

void FuzzedShell::Open(const SendOpen& action, absl::Time /*asked*/,
                       std::optional<WaitingTurns::Turn> turn) {
  opens_.push_back({action.ticket, std::move(turn)});
}

// What is no message of the type is an error of the call to gRPC.
template <typename Reply>
bool FuzzedShell::HearRounds(std::string_view message, Ticket ticket) {
  Reply reply;
  const bool parsed = Parse(message, reply);
  absl::StatusOr<Reply> answer = absl::InternalError("it cannot be parsed");
  if (parsed) answer = std::move(reply);
  events_->Deliver(ToEvent(ticket, answer));
  return true;
}

// As client/push_request and worker/shell/lease_calls hand it on.
bool FuzzedShell::HearPush(std::string_view message) {
  if (pushes_.empty()) return false;
  v1::PushReply reply;
  PushDone done{.ticket = TakeFirst(pushes_)};
  if (!Parse(message, reply)) done.status = absl::InternalError("it cannot be parsed");
  for (const v1::PartitionOutcome& partition : reply.partitions()) {
    done.outcomes.Count(KnownOutcome(partition.dense()));
    done.outcomes.Count(KnownOutcome(partition.sparse()));
  }
  done.retry_after =
      BoundedSeconds(reply.retry_after_seconds(), absl::ZeroDuration(), absl::Minutes(1));
  events_->Deliver(std::move(done));
  return true;
}

bool FuzzedShell::HearRead(std::string_view shards) {
  if (reads_.empty()) {
    if (!std::exchange(reads_to_end_, false)) return false;
    events_->OnReadToEnd(shards.empty() ? absl::OkStatus() : absl::DataLossError("damaged"));
    return true;
  }
  const uint64_t batch = TakeFirst(reads_);
  if (shards.empty() && !end_) end_ = std::max(batch, beyond_);
  if (end_ && batch >= *end_) {
    events_->Deliver(EndOfData{*end_});
    return true;
  }
  beyond_ = std::max(beyond_, batch + 1);
  batches_[batch] = shards;
  events_->Deliver(BatchRead{.batch = batch,
                             .examples = static_cast<uint32_t>(shards.size()),
                             .shards = ShardsOf(batches_[batch]),
                             .stream = StreamId::Task(0, 1),
                             .seq = batch});
  return true;
}

// A batch that has been forgotten meanwhile is not answered. Whatever there is in the message, the
// gradient has a number that is none.
bool FuzzedShell::HearComputed(std::string_view message) {
  if (computes_.empty()) return false;
  const uint64_t batch = TakeFirst(computes_);
  if (!batches_.contains(batch)) return true;
  events_->Deliver(Computed{.batch = batch, .loss_sum = 1, .nonfinite = !message.empty()});
  return true;
}

bool FuzzedShell::HearFailure(std::string_view message) {
  if (message.size() < 2) return false;
  const auto code = static_cast<absl::StatusCode>(1 + static_cast<uint8_t>(message[0]) % 16);
  const absl::Status why(code, "it has failed");
  switch (static_cast<uint8_t>(message[1]) % 7) {
    case 0:
      if (opens_.empty()) return false;
      events_->Deliver(OpenDone{.ticket = TakeFirst(opens_).ticket, .status = why});
      return true;
    case 1:
      if (reports_.empty()) return false;
      events_->Deliver(ReportDone{.ticket = TakeFirst(reports_), .status = why});
      return true;
    case 2:
      if (pushes_.empty()) return false;
      events_->Deliver(PushDone{.ticket = TakeFirst(pushes_), .status = why});
      return true;
    case 3:
      if (pulls_.empty()) return false;
      events_->Deliver(PullDone{.ticket = TakeFirst(pulls_), .status = why});
      return true;
    case 4:
      if (clocks_.empty()) return false;
      events_->Deliver(ClockDone{.ticket = TakeFirst(clocks_), .status = why});
      return true;
    case 5:
      if (reads_.empty()) return false;
      reads_.pop_front();
      events_->OnReadFailed(why);
      return true;
    default:
      if (computes_.empty()) return false;
      computes_.pop_front();
      events_->OnComputeFailed(why);
      return true;
  }
}

// The owners of the view that the bytes name; each once, ascending.
std::vector<ShardIndex> FuzzedShell::ShardsOf(const std::string& batch) const {
  const std::set<uint32_t> owners(desk_.view.owners().begin(), desk_.view.owners().end());
  std::set<uint32_t> shards;
  for (const char c : batch) {
    if (owners.empty()) break;
    shards.insert(*std::next(owners.begin(), static_cast<uint8_t>(c) % owners.size()));
  }
  std::vector<ShardIndex> named;
  for (const uint32_t shard : shards) named.push_back(ShardIndex{static_cast<int32_t>(shard)});
  return named;
}

std::vector<BatchRead> FuzzedShell::Replan() {
  pulls_.clear();
  pushes_.clear();
  std::vector<BatchRead> replanned;
  for (const auto& [number, shards] : batches_) {
    replanned.push_back({.batch = number, .shards = ShardsOf(shards)});
  }
  return replanned;
}

bool FuzzedShell::Needs(uint64_t batch, ShardIndex shard) const {
  const auto found = batches_.find(batch);
  if (found == batches_.end()) return false;
  const std::vector<ShardIndex> shards = ShardsOf(found->second);
  return std::find(shards.begin(), shards.end(), shard) != shards.end();
}

}  // namespace capstan::worker
