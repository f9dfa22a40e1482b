// All interleavings of small worlds: two or three runners, two shards, and faults within a budget.
// Every one of them is explored to its end, so "no deadlock" means none at all in this world.
#include <gtest/gtest.h>

#include "tests/simulation/explorer.h"
#include "tests/simulation/worlds.h"

namespace capstan::simulation {
namespace {

void ExpectHolds(const SmallWorldOptions& world) {
  const Verdict verdict = Explore(world);
  EXPECT_EQ(verdict.violation, "") << verdict;
  EXPECT_TRUE(verdict.complete) << verdict;
  ::testing::Test::RecordProperty("states", static_cast<int>(verdict.states));
}

TEST(Explorer, AnExplorationThatIsCutOffSaysSo) {
  SmallWorldOptions world;
  world.sparse = Async();
  world.lengths = {2};
  const Verdict whole = Explore(world);
  const Verdict part = Explore(world, {.depth = 4});
  EXPECT_TRUE(whole.complete);
  EXPECT_FALSE(part.complete);
  EXPECT_EQ(part.violation, "");
  EXPECT_LT(part.states, whole.states);
}

// ---- synchronous rounds ----

SmallWorldOptions Lanes(std::vector<uint64_t> lengths, uint32_t backup_workers = 0) {
  SmallWorldOptions world;
  world.dense = Sync(backup_workers);
  world.lengths = std::move(lengths);
  return world;
}

TEST(SyncWorlds, RoundsHoldWhileLanesAreReleasedToNewRunners) {
  SmallWorldOptions world = Lanes({2, 1});
  world.releases = 1;
  ExpectHolds(world);
}

TEST(SyncWorlds, RoundsHoldWhileCallsTimeOutAndArriveLate) {
  SmallWorldOptions world = Lanes({2, 1});
  world.timeouts = 1;
  world.duplicates = 1;
  ExpectHolds(world);
}

TEST(SyncWorlds, RoundsHoldWhenARunnerDiesAnywhere) {
  SmallWorldOptions world = Lanes({2, 1});
  world.crashes = 1;
  ExpectHolds(world);
}

TEST(SyncWorlds, RoundsHoldWhileGradientsAreAddedBeforeTheyClose) {
  SmallWorldOptions world = Lanes({2, 1});
  world.news = true;
  world.releases = 1;
  ExpectHolds(world);
  world.releases = 0;
  world.timeouts = 1;
  ExpectHolds(world);
}

TEST(SyncWorlds, BackupWorkersLoseNoBatch) {
  SmallWorldOptions world = Lanes({1, 1}, /*backup_workers=*/1);
  world.releases = 1;
  ExpectHolds(world);
  ExpectHolds(Lanes({2, 1, 1}, /*backup_workers=*/1));
}

TEST(SyncWorlds, ABarrierStandsStillUntilItIsReleased) {
  SmallWorldOptions world = Lanes({2, 2}, /*backup_workers=*/1);
  world.holds = 1;
  ExpectHolds(world);
}

TEST(SyncWorlds, PartitionsThatNobodyTouchesCatchUp) {
  SmallWorldOptions world = Lanes({3, 2});
  world.gaps = true;
  world.partitions_per_shard = 2;
  ExpectHolds(world);
}

// ---- streams ----

SmallWorldOptions Tasks(const v1::UpdatePolicy& policy, std::vector<uint64_t> lengths) {
  SmallWorldOptions world;
  world.sparse = policy;
  world.lengths = std::move(lengths);
  return world;
}

TEST(StreamWorlds, EveryBatchIsAppliedOnceWhileATaskHasTwoRunners) {
  SmallWorldOptions world = Tasks(Async(), {2});
  world.releases = 1;
  ExpectHolds(world);
}

TEST(StreamWorlds, EveryBatchIsAppliedOnceWhileCallsTimeOutAndArriveLate) {
  SmallWorldOptions world = Tasks(Async(), {2});
  world.timeouts = 1;
  world.duplicates = 1;
  ExpectHolds(world);
}

TEST(StreamWorlds, EveryBatchIsAppliedOnceWhenRunnersDieOrDrain) {
  SmallWorldOptions world = Tasks(Async(), {2, 1});
  world.crashes = 1;
  ExpectHolds(world);
  world.crashes = 0;
  world.drains = 1;
  ExpectHolds(world);
}

TEST(StreamWorlds, QueuesLoseNothingAndAreFlushedAtTheEnd) {
  SmallWorldOptions world = Tasks(Async(/*aggregate=*/2), {2, 1});
  world.timeouts = 1;
  ExpectHolds(world);
}

// ---- clocks ----

TEST(SspWorlds, TheBoundHoldsAndNobodyWaitsForEver) {
  ExpectHolds(Tasks(Ssp(/*staleness=*/0), {2, 1}));
  ExpectHolds(Tasks(Ssp(/*staleness=*/1), {2, 1}));
}

TEST(SspWorlds, TheBoundHoldsWhenATrainerDies) {
  SmallWorldOptions world = Tasks(Ssp(/*staleness=*/0), {1, 1});
  world.crashes = 1;
  ExpectHolds(world);
}

// ---- the hybrid ----

TEST(HybridWorlds, BothPartsHoldTogether) {
  SmallWorldOptions world = Tasks(Ssp(/*staleness=*/1), {2, 1});
  world.dense = Sync();
  ExpectHolds(world);
  world.lengths = {1, 1};
  world.dense = Sync(/*backup_workers=*/1);
  ExpectHolds(world);
}

TEST(HybridWorlds, ANewRunnerOfALaneThatIsInKeepsNobodyWaiting) {
  SmallWorldOptions world = Tasks(Ssp(/*staleness=*/0), {2, 1});
  world.dense = Sync();
  world.shards = 1;
  world.crashes = 1;
  ExpectHolds(world);
}

TEST(HybridWorlds, BothPartsHoldWhenALaneIsReleased) {
  SmallWorldOptions world = Tasks(Async(), {1, 1});
  world.dense = Sync();
  world.releases = 1;
  ExpectHolds(world);
}

}  // namespace
}  // namespace capstan::simulation
