#include "ps/machines/partition_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/ps/machines/testing.h"

namespace capstan::ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AsyncPartition, AppliesOnArrivalAndCountsTheVersion) {
  PartitionMachine machine(Both(Policy(v1::POLICY_KIND_ASYNC)));
  const Decision decision = Push(machine, 0, 10);
  EXPECT_EQ(decision.outcome, v1::OUTCOME_APPLIED);
  ASSERT_EQ(decision.updates.size(), 1u);
  EXPECT_THAT(Handles(decision.updates[0]), ElementsAre(10));
  EXPECT_EQ(decision.updates[0].version, 1u);
  EXPECT_EQ(machine.version(Part::kSparse), 1u);
  EXPECT_EQ(machine.version(Part::kDense), 0u);
}

TEST(AsyncPartition, CountsBatchesOfTasksThatNoOtherPartitionCounts) {
  v1::UpdatePolicy policy = Policy(v1::POLICY_KIND_ASYNC);
  PartitionMachine machine(Both(policy));
  const auto push = [&machine](StreamId stream, uint64_t seq, bool counted_elsewhere) {
    const StreamGradient gradient{.name = {stream, seq, {1, 1}},
                                  .counted_elsewhere = counted_elsewhere};
    (void)machine.PushStream(Part::kSparse, kLine, gradient, kNow);
    return machine.batches(Part::kSparse);
  };
  EXPECT_EQ(push(kTask, 0, /*counted_elsewhere=*/false), 1u);
  EXPECT_EQ(push(kTask, 0, /*counted_elsewhere=*/false), 1u) << "it is settled";
  EXPECT_EQ(push(kTask, 1, /*counted_elsewhere=*/true), 1u);
  EXPECT_EQ(push(kTask, 2, /*counted_elsewhere=*/false), 2u);
  EXPECT_EQ(push(StreamId::Session(5), 0, /*counted_elsewhere=*/false), 2u) << "it is of no task";
  EXPECT_EQ(machine.version(Part::kSparse), 4u);
  EXPECT_EQ(machine.batches(Part::kDense), 0u);
}

TEST(AsyncPartition, WhatItHasCountedGoesAlongInItsState) {
  v1::UpdatePolicy policy = Policy(v1::POLICY_KIND_ASYNC);
  policy.set_aggregate(2);
  PartitionMachine machine(Both(policy));
  for (uint64_t seq = 0; seq < 4; ++seq) Push(machine, seq, 10 + seq);
  EXPECT_EQ(machine.version(Part::kSparse), 2u);
  PartitionState state = machine.Snapshot();
  EXPECT_EQ(PartitionMachine(Both(policy), state, kNow).batches(Part::kSparse), 4u);
  PartState& sparse = state.parts[static_cast<size_t>(Part::kSparse)];
  EXPECT_EQ(sparse.batches, 4u);
  sparse.batches = 1;  // Most were counted elsewhere.
  EXPECT_EQ(PartitionMachine(Both(policy), state, kNow).batches(Part::kSparse), 1u);
  sparse.batches.reset();  // A release that did not count has written it.
  EXPECT_EQ(PartitionMachine(Both(policy), state, kNow).batches(Part::kSparse), 4u);
  sparse.version = std::numeric_limits<uint64_t>::max();
  EXPECT_GE(PartitionMachine(Both(policy), state, kNow).batches(Part::kSparse), uint64_t{1} << 59);
}

TEST(AsyncPartition, TellsTheStalenessOfWhatItApplies) {
  v1::UpdatePolicy policy = Policy(v1::POLICY_KIND_ASYNC);
  policy.set_stale_gradients(v1::STALE_GRADIENTS_SCALE);
  PartitionMachine machine(Both(policy));
  Push(machine, 0, 10);
  Push(machine, 1, 11);
  const Decision decision = Push(machine, 2, 12);  // Pulled at version 0, as all are.
  EXPECT_EQ(decision.updates[0].contributions[0].staleness, 2u);
  EXPECT_EQ(decision.updates[0].contributions[0].weight, 0.5);
}

// Ten steps that pulled the same running mean, each a tenth of the way to that of its batch: what
// is there must not go beyond where the batches are.
TEST(AsyncPartition, WhatIsNotTrainedMovesByAsMuchLessAsAStepIsLate) {
  PartitionMachine machine(Both(Policy(v1::POLICY_KIND_ASYNC)));
  double moved = 0;
  for (uint64_t seq = 0; seq < 10; ++seq) {
    const Decision decision = Push(machine, seq, seq);  // Pulled at version 0, as all are.
    const Contribution& contribution = decision.updates[0].contributions[0];
    EXPECT_EQ(contribution.weight, 1) << "what is trained does as the policy says";
    EXPECT_EQ(contribution.running_weight, seq < 2 ? 1 : 1.0 / static_cast<double>(seq));
    moved += 0.1 * contribution.running_weight;
  }
  EXPECT_LT(moved, 0.4);
}

TEST(AsyncPartition, WhatIsDroppedIsSettledAndDiscarded) {
  v1::UpdatePolicy policy = Policy(v1::POLICY_KIND_ASYNC);
  policy.set_stale_gradients(v1::STALE_GRADIENTS_DROP);
  policy.set_drop_above(0);
  PartitionMachine machine(Both(policy));
  Push(machine, 0, 10);
  const Decision decision = Push(machine, 1, 11);
  EXPECT_EQ(decision.outcome, v1::OUTCOME_DROPPED);
  EXPECT_THAT(Discarded(decision), ElementsAre(11));
  EXPECT_EQ(Push(machine, 1, 12).outcome, v1::OUTCOME_SETTLED);
}

TEST(AggregatingPartition, AppliesTheMeanOfKOnce) {
  PartitionMachine machine(Both(Policy(v1::POLICY_KIND_ASYNC, 3)));
  EXPECT_EQ(Push(machine, 0, 10).outcome, v1::OUTCOME_QUEUED);
  EXPECT_THAT(Push(machine, 1, 11).updates, IsEmpty());
  const Decision decision = Push(machine, 2, 12);
  EXPECT_EQ(decision.outcome, v1::OUTCOME_QUEUED);
  ASSERT_EQ(decision.updates.size(), 1u);
  EXPECT_THAT(Handles(decision.updates[0]), ElementsAre(10, 11, 12));
  EXPECT_EQ(decision.updates[0].contributions[0].weight, 1.0 / 3);
  EXPECT_EQ(decision.updates[0].contributions[0].running_weight, 1.0 / 3);
  EXPECT_EQ(machine.version(Part::kSparse), 1u);
}

TEST(AggregatingPartition, FlushAppliesTheMeanOfTheRest) {
  PartitionMachine machine(Both(Policy(v1::POLICY_KIND_ASYNC, 3)));
  Push(machine, 0, 10);
  Push(machine, 1, 11);
  const Decision decision = machine.Flush();
  ASSERT_EQ(decision.updates.size(), 1u);
  EXPECT_EQ(decision.updates[0].contributions[1].weight, 0.5);
  EXPECT_EQ(machine.queued(), 0u);
  EXPECT_EQ(Push(machine, 0, 12).outcome, v1::OUTCOME_SETTLED);
}

TEST(AggregatingPartition, PushesBackWhenHeldBackAndFullAndLosesNothing) {
  PartitionMachine machine(Both(Policy(v1::POLICY_KIND_ASYNC, 2)));
  machine.HoldBack();
  for (uint64_t seq = 0; seq < 4; ++seq) {
    EXPECT_EQ(Push(machine, seq, 10 + seq).outcome, v1::OUTCOME_QUEUED);
  }
  const Decision full = Push(machine, 4, 14);
  EXPECT_EQ(full.outcome, v1::OUTCOME_BUSY);
  EXPECT_THAT(Discarded(full), ElementsAre(14));
  const Decision due = machine.GoOn();
  ASSERT_EQ(due.updates.size(), 2u);
  EXPECT_THAT(Handles(due.updates[1]), ElementsAre(12, 13));
  EXPECT_EQ(Push(machine, 4, 15).outcome, v1::OUTCOME_QUEUED);
}

TEST(HeldBackPartition, RefusesAsBusyAndSettlesNothing) {
  PartitionMachine machine(Both(Policy(v1::POLICY_KIND_ASYNC)));
  machine.HoldBack();
  EXPECT_EQ(Push(machine, 0, 10).outcome, v1::OUTCOME_BUSY);
  machine.GoOn();
  EXPECT_EQ(Push(machine, 0, 11).outcome, v1::OUTCOME_APPLIED);
}

TEST(SyncPartition, AppliesTheRoundCommitInLaneOrderByExamples) {
  PartitionMachine machine(Both(Policy(v1::POLICY_KIND_SYNC)));
  EXPECT_EQ(Stage(machine, 2, 1, 12).outcome, v1::OUTCOME_STAGED);
  Stage(machine, 0, 1, 10);
  Stage(machine, 1, 1, 11);  // Too late for the set.
  const RoundCommit set{1, {{LaneIndex{0}, {1, 1}, 10}, {LaneIndex{2}, {1, 1}, 30}}};
  const Decision decision = machine.CatchUp(std::span(&set, 1));
  ASSERT_EQ(decision.updates.size(), 1u);
  EXPECT_THAT(Handles(decision.updates[0]), ElementsAre(10, 12));
  EXPECT_EQ(decision.updates[0].contributions[0].weight, 10);
  EXPECT_EQ(decision.updates[0].contributions[1].weight, 30);
  EXPECT_EQ(decision.updates[0].scale, 1.0 / 40);
  EXPECT_EQ(decision.updates[0].round, 1u);
  EXPECT_THAT(Discarded(decision), ElementsAre(11));
  EXPECT_EQ(machine.round(), 1u);
  EXPECT_THAT(machine.CatchUp(std::span(&set, 1)).updates, IsEmpty());
}

TEST(SyncPartition, TakesStagesOfItsOpenRoundOnly) {
  PartitionMachine machine(Both(Policy(v1::POLICY_KIND_SYNC)));
  EXPECT_EQ(Stage(machine, 0, 2, 10).outcome, v1::OUTCOME_WRONG_ROUND);
  const RoundCommit set{1, {}};
  machine.CatchUp(std::span(&set, 1));
  EXPECT_EQ(Stage(machine, 0, 1, 11).outcome, v1::OUTCOME_WRONG_ROUND);
  EXPECT_EQ(Stage(machine, 0, 2, 12).outcome, v1::OUTCOME_STAGED);
  EXPECT_EQ(machine.version(Part::kDense), 0u) << "a round without gradients is no update";
}

TEST(SyncPartition, ARepeatedStageIsDiscardedAndAcknowledged) {
  PartitionMachine machine(Both(Policy(v1::POLICY_KIND_SYNC)));
  Stage(machine, 0, 1, 10);
  const Decision again = Stage(machine, 0, 1, 11);
  EXPECT_EQ(again.outcome, v1::OUTCOME_STAGED);
  EXPECT_THAT(Discarded(again), ElementsAre(11));
}

TEST(SyncPartition, CatchesUpOverSeveralRoundsButNotOverAGap) {
  PartitionMachine machine(Both(Policy(v1::POLICY_KIND_SYNC)));
  const std::vector<RoundCommit> sets = {{1, {}}, {2, {}}, {4, {}}};
  machine.CatchUp(sets);
  EXPECT_EQ(machine.round(), 2u);
  EXPECT_EQ(machine.AdmitPull(3), PullAdmission::kGo);
  EXPECT_EQ(machine.AdmitPull(2), PullAdmission::kRoundClosed);
  EXPECT_EQ(machine.AdmitPull(5), PullAdmission::kNotYet);
  EXPECT_EQ(machine.AdmitPull(0), PullAdmission::kGo);
}

TEST(HybridPartition, EachPartHasItsOwnPolicy) {
  PartitionOptions options = Both(Policy(v1::POLICY_KIND_SYNC));
  options.sparse = Policy(v1::POLICY_KIND_SSP);
  PartitionMachine machine(options);
  EXPECT_EQ(Push(machine, 0, 10).outcome, v1::OUTCOME_APPLIED);
  EXPECT_EQ(Stage(machine, 0, 1, 11).outcome, v1::OUTCOME_STAGED);
  const RoundCommit set{1, {{LaneIndex{0}, {1, 1}, 1}}};
  const Decision decision = machine.CatchUp(std::span(&set, 1));
  ASSERT_EQ(decision.updates.size(), 1u);
  EXPECT_EQ(decision.updates[0].part, Part::kDense);
  EXPECT_EQ(machine.version(Part::kSparse), 1u);
}

TEST(PartitionSnapshot, HoldsLedgersVersionsAndTheRound) {
  PartitionOptions options = Both(Policy(v1::POLICY_KIND_SYNC));
  options.sparse = Policy(v1::POLICY_KIND_ASYNC);
  PartitionMachine machine(options);
  Push(machine, 0, 10);
  const RoundCommit set{1, {}};
  machine.CatchUp(std::span(&set, 1));
  PartitionMachine restored(options, machine.Snapshot(), kNow);
  EXPECT_EQ(restored.version(Part::kSparse), 1u);
  EXPECT_EQ(restored.round(), 1u);
  EXPECT_EQ(Push(restored, 0, 11).outcome, v1::OUTCOME_SETTLED);
}

}  // namespace
}  // namespace capstan::ps
