// Small worlds with the real chief: workers, shards and the chief die at every point of a job, and
// calls and heartbeats are lost, repeated and late. Each job is followed to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/explorer.h"
#include "tests/simulation/worlds.h"

namespace capstan::simulation {
namespace {

using ::testing::HasSubstr;

ChiefWorldOptions ChiefWithTasks(std::vector<uint64_t> lengths) {
  ChiefWorldOptions world;
  world.sparse = Async();
  world.lengths = std::move(lengths);
  return world;
}

ChiefWorldOptions ChiefWithLanes(std::vector<uint64_t> lengths) {
  ChiefWorldOptions world;
  world.dense = Sync();
  world.lengths = std::move(lengths);
  return world;
}

void ExpectJobsEnd(const ChiefWorldOptions& world, const DeviationOptions& options) {
  const Verdict verdict = Explore(world, options);
  EXPECT_EQ(verdict.violation, "") << verdict;
  EXPECT_GT(verdict.states, 20u);
  ::testing::Test::RecordProperty("states", static_cast<int>(verdict.states));
  ::testing::Test::RecordProperty("complete", verdict.complete ? "yes" : "no");
}

TEST(ChiefWorlds, TasksAreTrainedOnceWhateverHappensOnce) {
  ExpectJobsEnd(ChiefWithTasks({2, 1}), {.deviations = 1});
}

TEST(ChiefWorlds, TasksAreTrainedOnceOnTwoShardsWhateverHappensOnce) {
  ChiefWorldOptions world = ChiefWithTasks({1, 1});
  world.shards = 2;
  ExpectJobsEnd(world, {.deviations = 1});
}

TEST(ChiefWorlds, RoundsHoldWhateverHappensOnce) {
  ExpectJobsEnd(ChiefWithLanes({2, 1}), {.deviations = 1});
}

TEST(ChiefWorlds, TasksAreTrainedOnceWhateverHappensTwice) {
  ChiefWorldOptions world = ChiefWithTasks({1, 1});
  world.workers = 1;
  ExpectJobsEnd(world, {.deviations = 2, .share = 64});
}

TEST(ChiefWorlds, RoundsHoldWhateverHappensTwice) {
  ChiefWorldOptions world = ChiefWithLanes({1, 1});
  world.workers = 1;
  ExpectJobsEnd(world, {.deviations = 2, .share = 64});
}

// ---- each of these takes a rule of the chief away, and is found out ----

void ExpectChiefBreaks(const ChiefWorldOptions& world, const char* rule) {
  const Verdict verdict = Explore(world, {.deviations = 1});
  EXPECT_THAT(verdict.violation, HasSubstr(rule)) << verdict;
}

TEST(BrokenRulesOfTheChief, ALeaseThatEndsBeforeItsTimeIsGivenToTwoWorkers) {
  ChiefWorldOptions world = ChiefWithTasks({2, 1});
  world.lie = ChiefLie::kHurriedClock;
  ExpectChiefBreaks(world, "TaskStands");
}

TEST(BrokenRulesOfTheChief, ATimelineThatIsNotStoredDoesNotStand) {
  ChiefWorldOptions world = ChiefWithTasks({1, 1});
  world.lie = ChiefLie::kHastyStore;
  ExpectChiefBreaks(world, "ViewStands");
}

TEST(BrokenRulesOfTheChief, AStreamThatIsClosedBeforeItsTaskIsStoredDoesNotStand) {
  ChiefWorldOptions world = ChiefWithTasks({1, 1});
  world.lie = ChiefLie::kHastyClose;
  ExpectChiefBreaks(world, "ClosesStand");
}

}  // namespace
}  // namespace capstan::simulation
