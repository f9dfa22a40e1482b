#include "chief/machines/partition_moves.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/check.h"
#include "chief/state/pause.h"

namespace capstan::chief {

void PartitionMoves::Plan(std::vector<PlannedMove> moves, std::string why) {
  plan_.assign(moves.begin(), moves.end());
  if (!plan_.empty()) why_ = std::move(why);
}

bool PartitionMoves::ForgetPlanUnless(absl::FunctionRef<bool(const PlannedMove&)> possible) {
  if (std::all_of(plan_.begin(), plan_.end(), possible)) return false;
  plan_.clear();
  return true;
}

bool PartitionMoves::Concerns(uint32_t shard) const {
  return std::any_of(batch_.begin(), batch_.end(), [shard](const PlannedMove& move) {
    return move.from == shard || move.to == shard;
  });
}

std::vector<PlannedMove> PartitionMoves::Begin(
    absl::FunctionRef<uint64_t(const PlannedMove&)> bytes_of, absl::Time now) {
  CAPSTAN_CHECK(planned() && !under_way());
  uint64_t bytes = 0;
  while (!plan_.empty() && batch_.size() < options_.batch_partitions) {
    // A plan may back a partition up and then hand it over: that takes two batches.
    const auto same = [next = plan_.front().partition](const PlannedMove& move) {
      return move.partition == next;
    };
    if (std::any_of(batch_.begin(), batch_.end(), same)) break;
    bytes += bytes_of(plan_.front());
    if (!batch_.empty() && bytes > options_.batch_bytes) break;
    batch_.push_back(plan_.front());
    plan_.pop_front();
  }
  for (const PlannedMove& move : batch_) sources_[move.from].partitions.push_back(move.partition);
  phase_ = Phase::kOrdered;
  refused_ = absl::OkStatus();
  Progress(now);
  return batch_;
}

bool PartitionMoves::OnView(const v1::View& published, absl::Time now, ShardCalls& calls) {
  if (phase_ == Phase::kOrdered) {
    const auto named = [&](const PlannedMove& planned) {
      return std::any_of(published.moves().begin(), published.moves().end(),
                         [&](const v1::PartitionMove& move) {
                           return move.partition() == planned.partition && move.to() == planned.to;
                         });
    };
    if (!std::all_of(batch_.begin(), batch_.end(), named)) return false;
    id_ = published.moves(0).id();
    AskAll(Phase::kCopying, now, calls);
  }
  if (phase_ != Phase::kSwitched) return false;
  // The view of the switch names no moves. It may hold other changes, too.
  if (!published.moves().empty()) return false;
  last_switch_ = now - finish_begun_;
  failures_in_a_row_ = 0;
  for (const PlannedMove& move : batch_) {
    ++(move.replica ? paired_ : moved_);
    if (move.replica) continue;
    failures_.erase(move.from);
    failures_.erase(move.to);
  }
  Clear();
  return true;
}

void PartitionMoves::AskAll(Phase phase, absl::Time now, ShardCalls& calls) {
  phase_ = phase;
  asked_at_ = now;
  Progress(now);
  for (const auto& [shard, source] : sources_) {
    awaited_.insert(shard);
    Ask(shard, now, calls);
  }
}

absl::Duration PartitionMoves::poll() const {
  switch (phase_) {
    case Phase::kCatchingUp:
      return options_.catch_up_poll;
    case Phase::kFinishing:
      return options_.finish_poll;
    default:
      return options_.copy_poll;
  }
}

void PartitionMoves::Ask(uint32_t shard, absl::Time due, ShardCalls& calls) {
  v1::MovePartitionsRequest request;
  *request.mutable_id() = id_;
  const Source& source = sources_.at(shard);
  request.mutable_partitions()->Assign(source.partitions.begin(), source.partitions.end());
  request.set_finish(phase_ == Phase::kFinishing);
  request.set_bytes_per_second(options_.bytes_per_second);
  calls.Send(
      shard, std::move(request),
      {.deadline = options_.call_deadline, .due = due, .may_be_refused = true, .hurries = true});
}

void PartitionMoves::OnAnswer(uint32_t shard, const absl::StatusOr<ShardReply>& reply,
                              absl::Time now, ShardCalls& calls) {
  if (!asks() || !awaited_.contains(shard)) return;
  if (!reply.ok()) {
    refused_ = absl::Status(reply.status().code(),
                            absl::StrCat("shard ", shard, ": ", reply.status().message()));
    return;
  }
  const auto& answer = reply->Get<v1::MovePartitionsReply>();
  Source& source = sources_.at(shard);
  if (answer.bytes() != source.bytes) Progress(now);
  source.bytes = answer.bytes();
  source.bytes_expected = answer.bytes_expected();
  const bool done = phase_ == Phase::kFinishing ? answer.done() : answer.copied();
  if (!done) return Ask(shard, now + poll(), calls);
  awaited_.erase(shard);
  Progress(now);
  if (awaited_.empty()) OnAllDone(now, calls);
}

void PartitionMoves::OnAllDone(absl::Time now, ShardCalls& calls) {
  if (phase_ == Phase::kCopying) return AskAll(Phase::kCatchingUp, now, calls);
  if (phase_ != Phase::kCatchingUp) return;
  phase_ = Phase::kCopied;
  if (!quiet_since_) quiet_since_ = now;
  catch_up_at_ = now + std::max(options_.catch_up_pause, 4 * (now - asked_at_));
}

void PartitionMoves::CatchUpIfDue(absl::Time now, ShardCalls& calls) {
  CAPSTAN_CHECK(copied());
  if (now >= catch_up_at_) AskAll(Phase::kCatchingUp, now, calls);
}

void PartitionMoves::Finish(absl::Time now, ShardCalls& calls) {
  CAPSTAN_CHECK(copied());
  finish_begun_ = now;
  AskAll(Phase::kFinishing, now, calls);
}

void PartitionMoves::Switch() {
  CAPSTAN_CHECK(done());
  phase_ = Phase::kSwitched;
}

absl::Status PartitionMoves::Failure(absl::Time now) const {
  if (!refused_.ok()) return refused_;
  const absl::Duration patience =
      phase_ == Phase::kFinishing ? options_.finish_patience : options_.patience;
  if (asks() && now - progress_at_ > patience) {
    return absl::DeadlineExceededError(absl::StrCat("no progress for ",
                                                    absl::FormatDuration(patience), " by shard ",
                                                    absl::StrJoin(awaited_, ", ")));
  }
  const bool waits = copied() || phase_ == Phase::kCatchingUp;
  if (waits && quiet_since_ && now - *quiet_since_ > options_.switch_patience) {
    return absl::DeadlineExceededError(absl::StrCat(
        "the job did not stand still within ", absl::FormatDuration(options_.switch_patience)));
  }
  return absl::OkStatus();
}

void PartitionMoves::Cancel(bool failed, absl::Time now, ShardCalls& calls) {
  plan_.clear();
  if (!under_way()) return;
  calls.Cancel<v1::MovePartitionsRequest>();
  cancelled_ += batch_.size();
  if (failed) {
    again_ = now + PauseAfter(failures_in_a_row_, options_.first_pause, options_.longest_pause);
    ++failures_in_a_row_;
    std::set<uint32_t> concerned;
    for (const PlannedMove& move : batch_) {
      if (!move.replica) concerned.insert({move.from, move.to});
    }
    for (uint32_t shard : concerned) ++failures_[shard];
  }
  Clear();
}

void PartitionMoves::Clear() {
  batch_.clear();
  sources_.clear();
  awaited_.clear();
  quiet_since_.reset();
  phase_ = Phase::kIdle;
}

int PartitionMoves::FailuresOf(uint32_t shard) const {
  const auto found = failures_.find(shard);
  return found == failures_.end() ? 0 : found->second;
}

v1::MoveStatus PartitionMoves::Status() const {
  v1::MoveStatus status;
  status.set_under_way(static_cast<uint32_t>(batch_.size()));
  for (const auto& [shard, source] : sources_) {
    status.set_bytes(status.bytes() + source.bytes);
    status.set_bytes_expected(status.bytes_expected() + source.bytes_expected);
  }
  status.set_moved(moved_);
  status.set_paired(paired_);
  status.set_cancelled(cancelled_);
  status.set_seconds(absl::ToDoubleSeconds(last_switch_));
  if (under_way() || planned()) status.set_why(why_);
  return status;
}

}  // namespace capstan::chief
