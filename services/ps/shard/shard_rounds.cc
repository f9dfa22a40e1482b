// Shard: rounds. Round commits arrive with requests; the coordinator's calls on the owner of
// partition 0.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

absl::Status Shard::LearnRound(uint64_t timeline, const v1::RoundCommit& closed, Teller teller) {
  if (closed.round() <= rounds_.last_round()) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(RoundCommit set, RoundCommitFromProto(closed));
  if (teller == Teller::kTrainer) CAPSTAN_RETURN_IF_ERROR(CheckRound(timeline, set));
  if (!rounds_.Learn(Timeline{timeline}, set, [this] { return IsEmpty(); })) {
    return absl::OkStatus();
  }
  CAPSTAN_FAILPOINT("round.sweep");
  SweepRounds();
  CAPSTAN_FAILPOINT("round.swept");
  return absl::OkStatus();
}

void Shard::SweepRounds() {
  const absl::Time now = clock_.Now();
  uint64_t passed = rounds_.last_round();
  for (const std::unique_ptr<Partition>& partition : partitions_) {
    // A backup as well, which is told by its owner how far it may go.
    if (partition->loaded()) passed = std::min(passed, partition->CatchUp(now));
  }
  rounds_.Forget(passed);
}

absl::Status Shard::CheckCoordinator(uint64_t timeline) const {
  if (coordinator_ && coordinator_timeline_ == timeline) {
    if (!coordinator_silent_) return absl::OkStatus();
    return absl::UnavailableError("the coordinator of rounds is on its way to another shard");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "shard ", Raw(identity_.index), " is not the coordinator of rounds in timeline ", timeline));
}

CoordinatorMachine Shard::NewCoordinator(const std::optional<CoordinatorState>& state) const {
  const Part part = catalog_.IsSync(Part::kDense) ? Part::kDense : Part::kSparse;
  const v1::UpdatePolicy& policy = catalog_.policy(part);
  const int backups = static_cast<int>(policy.backup_workers());
  const uint64_t max_rounds = catalog_.job().train().max_steps();
  return state ? CoordinatorMachine(backups, *state, max_rounds)
               : CoordinatorMachine(static_cast<int>(policy.lanes()), backups, max_rounds);
}

void Shard::SetCoordinator(uint64_t timeline, std::optional<CoordinatorMachine> coordinator) {
  CoordinatorAnswers dismissed;
  ReplicaWait replicated;
  {
    absl::MutexLock lock(&coordinator_mu_);
    if (coordinator_) dismissed = coordinator_->Dismiss();
    replicated = TellCoordinator();
    coordinator_stream_ = nullptr;
    standby_coordinator_.reset();
    coordinator_ = std::move(coordinator);
    coordinator_timeline_ = timeline;
    coordinator_silent_ = false;
  }
  AnswerRounds(std::move(dismissed), std::move(replicated));
}

std::optional<WaiterId> Shard::OpenRound(const v1::OpenRoundRequest& request, OnOpened done) {
  // Shared by the parked callback and the refusal below; only one of them runs.
  auto shared = std::make_shared<OnOpened>(std::move(done));
  const uint64_t timeline = request.header().timeline();
  const WaiterId waiter = parked_rounds_.Park(
      [this, shared, timeline](const absl::StatusOr<CoordinatorAnswer>& answer) {
        if (!answer.ok()) return (*shared)(answer.status());
        OpenAnswer sealed = std::get<OpenAnswer>(answer->answer);
        sealed.closed.seal = sealer()->OfRound(timeline, sealed.closed);
        (*shared)(sealed);
      });
  const absl::Time now = clock_.Now();
  ReplicaWait replicated;
  absl::StatusOr<CoordinatorAnswers> answers = [&]() -> absl::StatusOr<CoordinatorAnswers> {
    absl::MutexLock lock(&coordinator_mu_);
    CAPSTAN_RETURN_IF_ERROR(CheckCoordinator(timeline));
    CAPSTAN_RETURN_IF_ERROR(CheckLane(timeline, request.lane(), request.generation()));
    CAPSTAN_ASSIGN_OR_RETURN(
        CoordinatorAnswers opened,
        coordinator_->Open({waiter, static_cast<LaneIndex>(request.lane()),
                            GenerationFromProto(request.generation()),
                            now + absl::Seconds(std::min(request.wait_seconds(), 60.0))},
                           now));
    replicated = TellCoordinator();
    return opened;
  }();
  if (!answers.ok()) {
    if (parked_rounds_.Take(waiter)) (*shared)(answers.status());
    return std::nullopt;
  }
  AnswerRounds(*std::move(answers), std::move(replicated));
  return waiter;
}

absl::StatusOr<v1::ReportLaneReply> Shard::ReportLane(const v1::ReportLaneRequest& request,
                                                      ReplicaWait& replicated) {
  absl::StatusOr<CoordinatorMachine::ReportResult> result;
  const uint64_t timeline = request.header().timeline();
  {
    absl::MutexLock lock(&coordinator_mu_);
    CAPSTAN_RETURN_IF_ERROR(CheckCoordinator(timeline));
    CAPSTAN_RETURN_IF_ERROR(CheckLane(timeline, request.lane(), request.generation()));
    result = coordinator_->Report({static_cast<LaneIndex>(request.lane()),
                                   GenerationFromProto(request.generation()), request.round(),
                                   request.examples(), request.end_of_data()});
    if (result.ok()) replicated = TellCoordinator();
  }
  if (!result.ok()) return result.status();
  CAPSTAN_FAILPOINT("round.reported");
  AnswerRounds(std::move(result->answers), replicated);
  v1::ReportLaneReply reply;
  reply.set_answer(result->answer);
  return reply;
}

std::optional<WaiterId> Shard::HoldRounds(const v1::HoldRoundsRequest& request, absl::Time deadline,
                                          OnHeld done) {
  const WaiterId waiter = parked_rounds_.Park(
      [done = std::move(done)](const absl::StatusOr<CoordinatorAnswer>& answer) mutable {
        done(answer.ok() ? std::get<HoldAnswer>(answer->answer)
                         : HoldAnswer{.status = answer.status()});
      });
  CoordinatorAnswers answers;
  ReplicaWait replicated;
  {
    absl::MutexLock lock(&coordinator_mu_);
    absl::Status order = CheckCoordinator(request.header().timeline());
    if (order.ok()) {
      order = coordinator_->TakeOrder(request.header().epoch().term(), request.number());
    }
    if (!order.ok()) {
      answers.push_back({waiter, HoldAnswer{.status = order}});
    } else if (request.hold()) {
      answers = coordinator_->Hold(waiter, deadline);
    } else {
      answers = coordinator_->Release();
      const CoordinatorState at = coordinator_->state();
      answers.push_back({waiter, HoldAnswer{{}, at.last, coordinator_->ended(), at.lanes}});
    }
    replicated = TellCoordinator();
  }
  AnswerRounds(std::move(answers), std::move(replicated));
  return waiter;
}

std::optional<WaiterId> Shard::WatchCounts(const v1::WatchCountsRequest& request,
                                           absl::Time deadline, OnNews done) {
  const WaiterId waiter = parked_rounds_.Park(
      [done = std::move(done)](const absl::StatusOr<CoordinatorAnswer>& answer) mutable {
        done(answer.ok() ? std::get<NewsAnswer>(answer->answer) : NewsAnswer{answer.status(), {}});
      });
  CoordinatorAnswers answers;
  ReplicaWait replicated;
  {
    absl::MutexLock lock(&coordinator_mu_);
    const absl::Status here = CheckCoordinator(request.header().timeline());
    if (here.ok()) {
      answers = coordinator_->Ask(
          {waiter, {request.round(), request.counted(), request.ended()}, deadline});
    } else {
      answers.push_back({waiter, NewsAnswer{here, {}}});
    }
    replicated = TellCoordinator();
  }
  AnswerRounds(std::move(answers), std::move(replicated));
  return waiter;
}

void Shard::LearnCounts(uint64_t timeline, const LaneNews& news) {
  if (!counted_.Learn(Timeline{timeline}, news)) return;
  const absl::Time now = clock_.Now();
  for (const std::unique_ptr<Partition>& partition : partitions_) {
    if (partition->loaded()) partition->AddCounted(now);
  }
}

bool Shard::AddsCounted() const {
  return AddsAhead(catalog_.policy(Part::kDense)) || AddsAhead(catalog_.policy(Part::kSparse));
}

bool Shard::IsNext(const v1::PushRequest& head) const {
  if (!AddsCounted() || !head.has_stage()) return false;
  bool next = false;
  counted_.Read([&](const LaneCounts& counts) {
    next = counts.timeline() == Timeline{head.header().timeline()} &&
           head.stage().round() >= counts.round() &&
           counts.NextOf(head.stage().round()) == static_cast<LaneIndex>(head.stage().lane());
  });
  return next;
}

bool Shard::ForgetRound(WaiterId waiter) {
  {
    absl::MutexLock lock(&coordinator_mu_);
    if (coordinator_) coordinator_->Forget(waiter);
  }
  return static_cast<bool>(parked_rounds_.Take(waiter));
}

void Shard::AnswerRounds(CoordinatorAnswers answers, ReplicaWait replicated) {
  if (answers.empty()) return;
  std::move(replicated).Then([this, answers = std::move(answers)](const absl::Status& status) {
    for (const CoordinatorAnswer& answer : answers) {
      if (status.ok()) {
        parked_rounds_.Release(answer.waiter, answer);
      } else {
        parked_rounds_.Release(answer.waiter, status);
      }
    }
  });
}

}  // namespace capstan::ps
