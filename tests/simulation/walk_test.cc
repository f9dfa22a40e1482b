// Random walks through larger worlds, deeper than the explorer goes, with many faults at once. A
// failure names its seed; CAPSTAN_SEED=<n> takes that walk alone, CAPSTAN_WALKS=<n> takes more of
// them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/simulation/explorer.h"
#include "tests/simulation/worlds.h"

namespace capstan::simulation {
namespace {

void ExpectWalksHold(const SmallWorldOptions& world) {
  const char* seed = std::getenv("CAPSTAN_SEED");
  const char* walks = std::getenv("CAPSTAN_WALKS");
  const Verdict verdict = seed != nullptr
                              ? Walk(world, std::stoull(seed), 1, /*depth=*/400)
                              : Walk(world, /*first_seed=*/1,
                                     walks != nullptr ? std::stoi(walks) : 1000, /*depth=*/400);
  EXPECT_EQ(verdict.violation, "") << verdict;
}

SmallWorldOptions Large(std::vector<uint64_t> lengths) {
  SmallWorldOptions world;
  world.lengths = std::move(lengths);
  world.shards = 3;
  world.partitions_per_shard = 2;
  world.gaps = true;
  world.push_window = 3;
  world.releases = 3;
  world.timeouts = 8;
  world.duplicates = 4;
  world.crashes = 2;
  world.drains = 1;
  return world;
}

TEST(Walks, SyncHoldsWithThreeLanesAndManyFaults) {
  SmallWorldOptions world = Large({6, 4, 5});
  world.dense = world.sparse = Sync();
  world.holds = 2;
  ExpectWalksHold(world);
  world.news = true;
  ExpectWalksHold(world);
}

TEST(Walks, BackupWorkersHoldWithFourLanesAndManyFaults) {
  SmallWorldOptions world = Large({5, 4, 4, 2});
  world.dense = Sync(/*backup_workers=*/2);
  world.holds = 2;
  ExpectWalksHold(world);
}

TEST(Walks, AsyncHoldsWithThreeTasksAndManyFaults) {
  SmallWorldOptions world = Large({12, 5, 7});
  world.dense = world.sparse = Async();
  ExpectWalksHold(world);
}

TEST(Walks, QueuesHoldWithThreeTasksAndManyFaults) {
  SmallWorldOptions world = Large({12, 5, 7});
  world.sparse = Async(/*aggregate=*/3);
  ExpectWalksHold(world);
}

TEST(Walks, SspHoldsWithThreeTrainersAndManyFaults) {
  SmallWorldOptions world = Large({9, 8, 10});
  world.dense = world.sparse = Ssp(/*staleness=*/1);
  ExpectWalksHold(world);
  world.dense = world.sparse = Ssp(/*staleness=*/0);
  ExpectWalksHold(world);
}

TEST(Walks, TheHybridHoldsWithFourLanesAndManyFaults) {
  SmallWorldOptions world = Large({5, 4, 4, 3});
  world.dense = Sync(/*backup_workers=*/1);
  world.sparse = Ssp(/*staleness=*/2);
  ExpectWalksHold(world);
  world.dense = Sync();
  world.news = true;
  ExpectWalksHold(world);
}

}  // namespace
}  // namespace capstan::simulation
