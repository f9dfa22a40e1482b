#include "ps/machines/partition_machine.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/consistency/decisions.h"

namespace capstan::ps {
namespace {

constexpr Part kAllParts[] = {Part::kDense, Part::kSparse};

}  // namespace

PartitionMachine::PartitionMachine(const PartitionOptions& options)
    : options_(options),
      sync_{capstan::IsSync(options.dense), capstan::IsSync(options.sparse)},
      adds_ahead_{AddsAhead(options.dense), AddsAhead(options.sparse)},
      streams_{StreamPart(Part::kDense, options.dense, options.queue_capacity),
               StreamPart(Part::kSparse, options.sparse, options.queue_capacity)},
      lanes_{LanePart(Part::kDense, options.lanes), LanePart(Part::kSparse, options.lanes)} {}

PartitionMachine::PartitionMachine(const PartitionOptions& options, const PartitionState& state,
                                   absl::Time now)
    : PartitionMachine(options) {
  round_ = state.round;
  for (size_t i = 0; i < kParts; ++i) {
    versions_[i] = state.parts[i].version;
    streams_[i].ledger() = StreamLedger::FromState(state.parts[i].ledger, now);
    if (!sync_[i]) streams_[i].RestoreBatches(state.parts[i].batches, versions_[i]);
  }
}

absl::StatusOr<PartitionMachine> PartitionMachine::RecoverPartially(const PartitionOptions& options,
                                                                    const PartitionState& state,
                                                                    const StreamFacts& told,
                                                                    absl::Time now) {
  PartitionMachine machine(options, state, now);
  for (size_t i = 0; i < kParts; ++i) {
    if (machine.sync_[i]) {
      return absl::FailedPreconditionError(
          absl::StrCat("a partition cannot recover partially at round ", state.round,
                       " of a synchronous part: roll back instead"));
    }
    machine.streams_[i].ledger() = StreamLedger::RecoverPartially(state.parts[i].ledger, told, now);
  }
  return machine;
}

Decision PartitionMachine::PushStream(Part part, Timeline timeline, const StreamGradient& gradient,
                                      absl::Time now) {
  CAPSTAN_CHECK(!IsSync(part));
  if (timeline != options_.timeline) return Refused(v1::OUTCOME_NOT_OWNER, gradient.handle);
  if (closed_ || moving_) return Refused(v1::OUTCOME_BUSY, gradient.handle);
  return streams_[Index(part)].Push(gradient, held_back_, now, versions_[Index(part)]);
}

Decision PartitionMachine::PushStage(Part part, Timeline timeline, const LaneGradient& gradient) {
  CAPSTAN_CHECK(IsSync(part));
  if (timeline != options_.timeline) return Refused(v1::OUTCOME_NOT_OWNER, gradient.handle);
  if (closed_ || moving_) return Refused(v1::OUTCOME_BUSY, gradient.handle);
  if (gradient.round == round_ + 1) return lanes_[Index(part)].Stage(gradient);
  const bool later = held_back_ && gradient.round > round_;
  return Refused(later ? v1::OUTCOME_BUSY : v1::OUTCOME_WRONG_ROUND, gradient.handle);
}

Decision PartitionMachine::AddCounted(const LaneCounts& counts) {
  Decision decision;
  if (counts.timeline() != options_.timeline || counts.round() != round_ + 1) return decision;
  for (size_t i = 0; i < kParts; ++i) {
    if (adds_ahead_[i]) lanes_[i].AddCounted(counts, decision);
  }
  return decision;
}

Decision PartitionMachine::CatchUp(std::span<const RoundCommit> sets) {
  Decision decision;
  if (held_back_ || moving_) return decision;
  for (const RoundCommit& set : sets) {
    if (set.round != round_ + 1) continue;
    for (size_t i = 0; i < kParts; ++i) {
      if (sync_[i]) lanes_[i].Close(set, versions_[i], decision);
    }
    round_ = set.round;
  }
  return decision;
}

PullAdmission PartitionMachine::AdmitPull(uint64_t round) const {
  if (round == 0 || round == round_ + 1) return PullAdmission::kGo;
  return round <= round_ ? PullAdmission::kRoundClosed : PullAdmission::kNotYet;
}

Decision PartitionMachine::Flush() {
  Decision decision;
  for (size_t i = 0; i < kParts; ++i) streams_[i].Drain(/*all=*/true, versions_[i], decision);
  return decision;
}

Decision PartitionMachine::GoOn() {
  held_back_ = false;
  Decision decision;
  for (size_t i = 0; i < kParts; ++i) streams_[i].Drain(/*all=*/false, versions_[i], decision);
  return decision;
}

bool PartitionMachine::BeginMove() {
  CAPSTAN_CHECK(queued() == 0);
  for (const LanePart& lanes : lanes_) {
    if (lanes.holds()) return false;
  }
  moving_ = true;
  return true;
}

bool PartitionMachine::CloseStream(Timeline timeline, StreamId stream, uint64_t batches) {
  CAPSTAN_CHECK(!moving_);
  if (timeline != options_.timeline) return false;
  for (Part part : kAllParts) {
    if (!IsSync(part)) streams_[Index(part)].ledger().Close(stream, batches);
  }
  return true;
}

std::array<std::vector<StreamId>, kParts> PartitionMachine::ExpireSessions(absl::Time now) {
  std::array<std::vector<StreamId>, kParts> expired;
  for (size_t i = 0; i < kParts; ++i) {
    expired[i] = streams_[i].ledger().ExpireSessions(now, kSessionTtl);
  }
  return expired;
}

void PartitionMachine::ForgetSession(Part part, StreamId session) {
  streams_[Index(part)].ledger().ForgetSession(session);
}

PartitionState PartitionMachine::Snapshot() const {
  CAPSTAN_CHECK(queued() == 0);
  PartitionState state;
  state.round = round_;
  for (size_t i = 0; i < kParts; ++i) {
    state.parts[i] = {versions_[i], streams_[i].ledger().state()};
    if (!sync_[i]) state.parts[i].batches = streams_[i].batches();
  }
  return state;
}

uint64_t PartitionMachine::lost(Part part) const { return streams_[Index(part)].ledger().lost(); }

size_t PartitionMachine::queued() const { return streams_[0].queued() + streams_[1].queued(); }

std::string PartitionMachine::DebugString() const {
  std::string text = absl::StrCat("t", Raw(options_.timeline), held_back_ ? " held back" : "",
                                  moving_ ? " moving" : "", " r", round_);
  for (Part part : kAllParts) {
    const size_t i = Index(part);
    absl::StrAppend(&text, " [v", versions_[i], " ", streams_[i].DebugString(),
                    lanes_[i].DebugString(), "]");
  }
  return text;
}

}  // namespace capstan::ps
