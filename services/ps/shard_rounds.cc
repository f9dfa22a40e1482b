// Shard: rounds. Closed sets arrive with requests; the keeper's calls on the owner of partition 0.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"
#include "ps/shard.h"

namespace capstan::ps {

absl::Status Shard::LearnRound(uint64_t timeline, const v1::ClosedSet& closed, Teller teller) {
  if (closed.round() <= rounds_.last_round()) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(ClosedSet set, ClosedSetFromProto(closed));
  if (teller == Teller::kMember) CAPSTAN_RETURN_IF_ERROR(CheckRound(timeline, set));
  if (!rounds_.Learn(Timeline{timeline}, set)) return absl::OkStatus();
  CAPSTAN_FAILPOINT("round.sweep");
  SweepRounds();
  CAPSTAN_FAILPOINT("round.swept");
  return absl::OkStatus();
}

void Shard::SweepRounds() {
  const absl::Time now = clock_.Now();
  uint64_t passed = rounds_.last_round();
  for (const std::unique_ptr<Partition>& partition : partitions_) {
    if (partition->loaded()) passed = std::min(passed, partition->CatchUp(now));
  }
  rounds_.Forget(passed);
}

absl::Status Shard::CheckKeeper(uint64_t timeline) const {
  if (keeper_ && keeper_timeline_ == timeline) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "shard ", Raw(identity_.index), " is not the keeper of rounds in timeline ", timeline));
}

void Shard::SetKeeper(uint64_t timeline, std::optional<KeeperMachine> keeper) {
  KeeperAnswers dismissed;
  {
    absl::MutexLock lock(&keeper_mu_);
    if (keeper_) dismissed = keeper_->Dismiss();
    keeper_ = std::move(keeper);
    keeper_timeline_ = timeline;
  }
  AnswerRounds(dismissed);
}

std::optional<WaiterId> Shard::OpenRound(const v1::OpenRoundRequest& request, OnOpened done) {
  // Shared by the parked callback and the refusal below; only one of them runs.
  auto shared = std::make_shared<OnOpened>(std::move(done));
  const uint64_t timeline = request.header().timeline();
  const WaiterId waiter = parked_rounds_.Park([this, shared, timeline](const KeeperAnswer& answer) {
    OpenAnswer sealed = std::get<OpenAnswer>(answer.answer);
    sealed.closed.seal = sealer()->OfRound(timeline, sealed.closed);
    (*shared)(sealed);
  });
  const absl::Time now = clock_.Now();
  const absl::StatusOr<KeeperAnswers> answers = [&]() -> absl::StatusOr<KeeperAnswers> {
    absl::MutexLock lock(&keeper_mu_);
    CAPSTAN_RETURN_IF_ERROR(CheckKeeper(timeline));
    CAPSTAN_RETURN_IF_ERROR(CheckLane(timeline, request.lane(), request.generation()));
    return keeper_->Open(
        {waiter, static_cast<LaneIndex>(request.lane()), GenerationFromProto(request.generation()),
         now + absl::Seconds(std::min(request.wait_seconds(), 60.0))},
        now);
  }();
  if (!answers.ok()) {
    if (parked_rounds_.Take(waiter)) (*shared)(answers.status());
    return std::nullopt;
  }
  AnswerRounds(*answers);
  return waiter;
}

absl::StatusOr<v1::ReportLaneReply> Shard::ReportLane(const v1::ReportLaneRequest& request) {
  absl::StatusOr<KeeperMachine::ReportResult> result;
  const uint64_t timeline = request.header().timeline();
  {
    absl::MutexLock lock(&keeper_mu_);
    CAPSTAN_RETURN_IF_ERROR(CheckKeeper(timeline));
    CAPSTAN_RETURN_IF_ERROR(CheckLane(timeline, request.lane(), request.generation()));
    result = keeper_->Report({static_cast<LaneIndex>(request.lane()),
                              GenerationFromProto(request.generation()), request.round(),
                              request.examples(), request.end_of_data()});
  }
  if (!result.ok()) return result.status();
  CAPSTAN_FAILPOINT("round.reported");
  AnswerRounds(result->answers);
  v1::ReportLaneReply reply;
  reply.set_answer(result->answer);
  return reply;
}

std::optional<WaiterId> Shard::HoldRounds(const v1::HoldRoundsRequest& request, absl::Time deadline,
                                          OnHeld done) {
  const WaiterId waiter =
      parked_rounds_.Park([done = std::move(done)](const KeeperAnswer& answer) mutable {
        done(std::get<HoldAnswer>(answer.answer));
      });
  KeeperAnswers answers;
  {
    absl::MutexLock lock(&keeper_mu_);
    absl::Status order = CheckKeeper(request.header().timeline());
    if (order.ok()) {
      order = keeper_->TakeOrder(request.header().epoch().term(), request.number());
    }
    if (!order.ok()) {
      answers.push_back({waiter, HoldAnswer{.status = order}});
    } else if (request.hold()) {
      answers = keeper_->Hold(waiter, deadline);
    } else {
      answers = keeper_->Release();
      const KeeperState at = keeper_->state();
      answers.push_back({waiter, HoldAnswer{{}, at.last, keeper_->ended(), at.lanes}});
    }
  }
  AnswerRounds(answers);
  return waiter;
}

bool Shard::ForgetRound(WaiterId waiter) {
  {
    absl::MutexLock lock(&keeper_mu_);
    if (keeper_) keeper_->Forget(waiter);
  }
  return static_cast<bool>(parked_rounds_.Take(waiter));
}

void Shard::AnswerRounds(const KeeperAnswers& answers) {
  for (const KeeperAnswer& answer : answers) parked_rounds_.Release(answer.waiter, answer);
}

}  // namespace capstan::ps
