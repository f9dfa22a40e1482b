// The explorer is known to find mistakes: each test takes one rule away, by a network that lies,
// and expects the invariant that the rule protects to fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/explorer.h"
#include "tests/simulation/worlds.h"

namespace capstan::simulation {
namespace {

using ::testing::HasSubstr;

SmallWorldOptions Lanes(Lie lie, std::vector<uint64_t> lengths, uint32_t backup_workers = 0) {
  SmallWorldOptions world;
  world.dense = Sync(backup_workers);
  world.lengths = std::move(lengths);
  world.lie = lie;
  return world;
}

SmallWorldOptions Tasks(Lie lie, const v1::UpdatePolicy& policy, std::vector<uint64_t> lengths) {
  SmallWorldOptions world;
  world.sparse = policy;
  world.lengths = std::move(lengths);
  world.lie = lie;
  return world;
}

void ExpectBreaks(const SmallWorldOptions& world, const char* invariant) {
  const Verdict verdict = Explore(world);
  EXPECT_THAT(verdict.violation, HasSubstr(invariant)) << verdict;
}

TEST(BrokenRules, WithoutTheCoordinatorsFenceARoundHoldsWhatItDidNotCount) {
  SmallWorldOptions world = Lanes(Lie::kNoCoordinatorFence, {1, 1});
  world.releases = 1;
  ExpectBreaks(world, "AppliedIsCounted");
}

TEST(BrokenRules, WithoutTheShardsFenceARoundHoldsWhatItDidNotCount) {
  SmallWorldOptions world = Lanes(Lie::kNoLaneFence, {1, 1});
  world.releases = 1;
  ExpectBreaks(world, "AppliedIsCounted");
}

TEST(BrokenRules, AGenerationGivenOutTwiceTearsARound) {
  SmallWorldOptions world = Lanes(Lie::kReusedGeneration, {1, 1});
  world.releases = 1;
  ExpectBreaks(world, "OneGradient");
}

TEST(BrokenRules, WithoutTheRoundCheckAPullReadsAnotherRound) {
  SmallWorldOptions world = Lanes(Lie::kNoRoundCheck, {2, 1}, /*backup_workers=*/1);
  ExpectBreaks(world, "PullExact");
}

TEST(BrokenRules, ASumOfWhatIsNotCountedHoldsAnotherGradient) {
  SmallWorldOptions world = Lanes(Lie::kHastySum, {1, 1});
  world.releases = 1;
  ExpectBreaks(world, "AppliedIsCounted");
}

TEST(BrokenRules, EmptyLanesThatCountOutvoteTheOthers) {
  ExpectBreaks(Lanes(Lie::kEmptyLanesCount, {2, 1}, /*backup_workers=*/1), "RoundSize");
}

TEST(BrokenRules, ALateBatchThatIsNotOfferedAgainIsLost) {
  ExpectBreaks(Lanes(Lie::kSkipLate, {2, 2}, /*backup_workers=*/1), "EndExact");
}

TEST(BrokenRules, WithoutTheCommitTheLastRoundIsMissing) {
  ExpectBreaks(Lanes(Lie::kNoCommit, {1, 1}), "EndExact");
}

TEST(BrokenRules, ABarrierThatIsNotHeldIsOverrun) {
  SmallWorldOptions world = Lanes(Lie::kNoHold, {2, 2});
  world.holds = 1;
  ExpectBreaks(world, "BarrierHolds");
}

TEST(BrokenRules, ASetThatDiffersBetweenShardsTearsARound) {
  ExpectBreaks(Lanes(Lie::kTornSet, {2, 2}), "a lane does not weigh");
}

TEST(BrokenRules, AStageThatDoesNotReachEveryShardTearsARound) {
  ExpectBreaks(Lanes(Lie::kStageOnOneShard, {1, 1}), "AppliedIsCounted");
}

TEST(BrokenRules, WithoutTheLedgerAGradientIsAppliedTwice) {
  SmallWorldOptions world = Tasks(Lie::kNoDedupe, Async(), {1});
  world.timeouts = 1;
  ExpectBreaks(world, "NoDuplicate");
}

TEST(BrokenRules, WithoutTheFenceAZombieIsListenedTo) {
  SmallWorldOptions world = Tasks(Lie::kNoStreamFence, Async(), {2});
  world.releases = 1;
  ExpectBreaks(world, "FencesHold");
}

TEST(BrokenRules, AClosedStreamThatIsForgottenIsAppliedTwice) {
  SmallWorldOptions world = Tasks(Lie::kForgetClosed, Async(), {1});
  world.duplicates = 1;
  ExpectBreaks(world, "NoDuplicate");
}

TEST(BrokenRules, WithoutLowWatermarksALedgerWithHolesSticks) {
  SmallWorldOptions world = Tasks(Lie::kNone, Async(), {200});
  world.gaps = true;
  EXPECT_EQ(Calm(world).violation, "");
  world.lie = Lie::kNoLowWatermark;
  EXPECT_THAT(Calm(world).violation, HasSubstr("NeverStuck"));
}

TEST(BrokenRules, WithoutTheFlushTheRestOfAQueueIsMissing) {
  ExpectBreaks(Tasks(Lie::kNoFlush, Async(/*aggregate=*/2), {1}), "EndExact");
}

TEST(BrokenRules, WithoutTheWaitTheBoundIsBroken) {
  ExpectBreaks(Tasks(Lie::kNoWait, Ssp(/*staleness=*/0), {2, 1}), "BoundHolds");
}

TEST(BrokenRules, AClockToldTooEarlyBreaksTheBound) {
  ExpectBreaks(Tasks(Lie::kEagerClock, Ssp(/*staleness=*/0), {3, 1}), "BoundHolds");
}

TEST(BrokenRules, AQuorumThatKeepsTheFinishedSticks) {
  ExpectBreaks(Tasks(Lie::kDeafClocks, Ssp(/*staleness=*/0), {3, 1}), "NeverStuck");
}

}  // namespace
}  // namespace capstan::simulation
