// The whole of Capstan in one thread, under faults drawn from a seed.
//
//   sim_test                    every test
//   sim_test --seeds 5000       so many seeds in each part
//   sim_test --seed 17 --trace  one history, told as it happens
//   sim_test --seed 1 --count 9 the seeds 1 to 9: those that break a rule
//   sim_test --moves --seed 17  the same of jobs whose shards come and go
//   sim_test --replicas --seed 17  the same of jobs with replicas: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "capstan/base/log.h"
#include "tests/simulation/sim/world.h"

namespace capstan::sim {
namespace {

using ::testing::ContainsRegex;

constexpr uint64_t kParts = 12;
uint64_t g_seeds = 170;       // Of each part.
uint64_t g_move_seeds = 25;   // Likewise.
uint64_t g_backup_seeds = 5;  // These take three times as long.

Verdict Play(const WorldOptions& options) { return World(options).Run(); }

using MakeWorld = WorldOptions (*)(uint64_t seed);

const char* OptionOf(MakeWorld make) {
  if (make == BackupsOf) return " --replicas";
  return make == MovesOf ? " --moves" : "";
}

void PlaySeeds(MakeWorld make, uint64_t count, uint64_t part) {
  constexpr int kEnough = 5;  // Failures.
  int broken = 0;
  for (uint64_t i = 0; i < count && broken < kEnough; ++i) {
    const uint64_t seed = 1 + i * kParts + part;
    const Verdict verdict = Play(make(seed));
    EXPECT_EQ(verdict.violation, "")
        << "see: sim_test" << OptionOf(make) << " --seed " << seed << " --trace";
    broken += verdict.violation.empty() ? 0 : 1;
  }
}

// The seeds in parts, so that several cores have something to do.
class Seeds : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Seeds, NoRuleIsBrokenWhateverHappens) { PlaySeeds(WorldOf, g_seeds, GetParam()); }
INSTANTIATE_TEST_SUITE_P(Parts, Seeds, ::testing::Range(uint64_t{0}, kParts));

// The same, of jobs whose shards come and go.
class Moves : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Moves, NoRuleIsBrokenWhateverHappens) { PlaySeeds(MovesOf, g_move_seeds, GetParam()); }
INSTANTIATE_TEST_SUITE_P(Parts, Moves, ::testing::Range(uint64_t{0}, kParts));

// The same, of jobs whose shards back each other up.
class Backups : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Backups, NoRuleIsBrokenWhateverHappens) { PlaySeeds(BackupsOf, g_backup_seeds, GetParam()); }
INSTANTIATE_TEST_SUITE_P(Parts, Backups, ::testing::Range(uint64_t{0}, kParts));

TEST(Simulation, ASeedIsOneHistory) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Verdict once = Play(WorldOf(seed));
    const Verdict again = Play(WorldOf(seed));
    EXPECT_EQ(once.digest, again.digest) << "seed " << seed;
    EXPECT_EQ(once.events, again.events) << "seed " << seed;
  }
}

TEST(Simulation, WithoutTroublesEveryPolicyEndsSoon) {
  for (Policy policy : kAllPolicies) {
    WorldOptions world;
    world.job.policy = policy;
    world.job.eval_tasks = 2;
    world.troubles.until = absl::ZeroDuration();
    const Verdict verdict = Play(world);
    EXPECT_EQ(verdict.violation, "") << NameOf(policy);
    EXPECT_LT(verdict.length, absl::Seconds(30)) << NameOf(policy);
  }
}

TEST(Simulation, AJobThatIsGivenAnotherShardIsSpreadOverIt) {
  for (Policy policy : kAllPolicies) {
    WorldOptions world;
    world.job.policy = policy;
    world.job.uri = "sim://jobs";
    world.job.tasks = 40;
    world.troubles.grow = true;
    world.troubles.between = absl::Milliseconds(50);
    world.troubles.until = absl::Seconds(5);
    const Verdict verdict = Play(world);
    EXPECT_EQ(verdict.violation, "") << NameOf(policy);
    EXPECT_EQ(verdict.shards, 3u) << NameOf(policy);
  }
}

TEST(Simulation, AShardThatDiesIsMissedByNobody) {
  for (Policy policy : kAllPolicies) {
    uint64_t promotions = 0;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      WorldOptions world;
      world.seed = seed;
      world.job.policy = policy;
      world.job.uri = "sim://jobs";
      world.job.partitions = 5;
      world.job.tasks = 40;
      world.job.replicas = 1;
      world.job.checkpoint_seconds = seed % 2 == 0 ? 2 : 0;
      world.shards = 3;
      world.troubles.between = absl::Seconds(1);
      world.troubles.kill_backed = true;
      world.troubles.notice_ends = seed > 2;
      const Verdict verdict = Play(world);
      EXPECT_EQ(verdict.violation, "") << NameOf(policy) << ", seed " << seed;
      EXPECT_EQ(verdict.timelines, 1u) << NameOf(policy) << ", seed " << seed;
      promotions += verdict.promotions;
    }
    EXPECT_GT(promotions, 0u) << NameOf(policy);
  }
}

// ---- the simulation is known to find mistakes: each test takes one rule away ----

void ExpectFinds(
    Lie lie, Policy policy, const char* invariant,
    const std::function<void(WorldOptions&)>& adjust = [](WorldOptions&) {}) {
  constexpr uint64_t kSeeds = 1000;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    WorldOptions world = WorldOf(seed);
    world.lie = lie;
    world.job.policy = policy;
    world.job.max_steps = 0;  // Drawn for a synchronous job.
    world.job.lanes = std::max(world.job.lanes, 3u);
    world.shards = std::max(world.shards, 2u);
    world.troubles.between = absl::Milliseconds(500);
    world.troubles.drain_workers = world.troubles.freeze_workers = true;
    world.job.recovery = v1::RECOVERY_ROLLBACK;
    world.troubles.grow = false;
    world.troubles.store_weather.damage = 0;
    adjust(world);
    const Verdict verdict = Play(world);
    if (verdict.violation.empty()) continue;
    EXPECT_THAT(verdict.violation, ContainsRegex(invariant)) << "seed " << seed;
    return;
  }
  ADD_FAILURE() << "not found in " << kSeeds << " seeds";
}

// With a store, and chiefs that come and go.
void ExpectFindsInStore(Lie lie, Policy policy, const char* invariant) {
  ExpectFinds(lie, policy, invariant, [lie](WorldOptions& world) {
    world.job.uri = "sim://jobs";
    world.job.checkpoint_seconds = 1;
    world.troubles.kill_all = world.troubles.kill_shards = true;
    world.troubles.replace_chief = world.troubles.freeze_chief = true;
    world.troubles.store_weather.unconditional = lie == Lie::kNoFence;
    world.troubles.store_weather.forget = lie == Lie::kForgetfulStore ? 0.02 : 0;
  });
}

TEST(SimulatedLies, WithoutTheLedgerAGradientIsAppliedTwice) {
  ExpectFinds(Lie::kNewStreams, Policy::kAsync, "NoDuplicate");
}

TEST(SimulatedLies, APushThatCountsWhenItIsSentIsLost) {
  ExpectFinds(Lie::kForgetfulWorker, Policy::kAsync, "EndExact");
}

TEST(SimulatedLies, ALeaseGivenBackThatCountsAsDoneLosesBatches) {
  ExpectFinds(Lie::kLoseTask, Policy::kAsync, "EndExact");
}

TEST(SimulatedLies, BadRecordsThatOnlyTheLastReaderOfATaskHasMetAreTooFew) {
  ExpectFinds(Lie::kLoseBadRecords, Policy::kAsync, "BadRecordsExact");
}

TEST(SimulatedLies, ATaskThatIsAssignedOtherPiecesWhenItIsLeasedAgainTrainsRecordsTwice) {
  // Twice some, and others never.
  const char* const found = "NoDuplicate|the chief counts";
  ExpectFinds(Lie::kReassigned, Policy::kAsync, found, [](WorldOptions& world) {
    world.job.pieces = 3;
    world.job.bad_lines = false;  // That one of them counts twice is noticed, too.
    world.job.stale = v1::STALE_GRADIENTS_UNSPECIFIED;
  });
}

TEST(SimulatedLies, ARowThatIsScaledByThePartitionsVersionIsNoticed) {
  ExpectFinds(Lie::kNoRowVersions, Policy::kAsync, "NoDuplicate",
              [](WorldOptions& world) { world.job.stale = v1::STALE_GRADIENTS_SCALE; });
}

TEST(SimulatedLies, ARowThatIsDroppedByThePartitionsVersionIsMissing) {
  ExpectFinds(Lie::kNoRowVersions, Policy::kSsp, "EndExact",
              [](WorldOptions& world) { world.job.stale = v1::STALE_GRADIENTS_DROP; });
}

TEST(SimulatedLies, AnEvaluationThatFailsInSilenceHoldsTheModelUp) {
  ExpectFinds(Lie::kSilentFailure, Policy::kAsync, "NeverStuck", [](WorldOptions& world) {
    world.job.eval_tasks = 2;
    world.job.eval_fails = true;
  });
}

TEST(SimulatedLies, AWorkerThatDoesNotSayThatItsDataDoNotComeHoldsTheJobUp) {
  ExpectFinds(Lie::kSilentStall, Policy::kSync, "NeverStuck", [](WorldOptions& world) {
    world.workers = 2;
    world.troubles = {.between = absl::Milliseconds(500), .stall_data = true};
  });
}

TEST(SimulatedLies, AShardThatAddsWhatIsNotCountedHoldsAnotherGradient) {
  ExpectFinds(Lie::kHastySum, Policy::kSync, "PullExact");
}

TEST(SimulatedLies, AWorkerThatIsBelievedWhateverItSaysOfLeasesStopsTheJob) {
  ExpectFinds(Lie::kBelieved, Policy::kSync, "NeverStuck", [](WorldOptions& world) {
    world.workers = 2;
    world.troubles = {.between = absl::Milliseconds(500), .false_words = true};
  });
}

TEST(SimulatedLies, AClockToldTooEarlyBreaksTheBound) {
  ExpectFinds(Lie::kEagerClock, Policy::kSsp, "BoundHolds");
}

TEST(SimulatedLies, AClockInEveryCallOfAPushBreaksTheBound) {
  ExpectFinds(Lie::kClockInAllCalls, Policy::kSsp, "BoundHolds");
}

TEST(SimulatedLies, WithoutTheWaitTheBoundIsBroken) {
  ExpectFinds(Lie::kNoWait, Policy::kSsp, "BoundHolds");
}

TEST(SimulatedLies, ASetThatDiffersBetweenShardsTearsARound) {
  ExpectFinds(Lie::kTornSet, Policy::kSync, "PullExact");
}

TEST(SimulatedLies, WithoutTheRoundCheckAPullReadsAnotherRound) {
  ExpectFinds(Lie::kWrongRound, Policy::kBackup, "PullExact");
}

TEST(SimulatedLies, WithoutTheCommitTheLastRoundIsMissing) {
  // Where the model is stored, whoever reads it is told that its partitions are of two rounds.
  ExpectFinds(Lie::kNoCommit, Policy::kSync, "EndExact", [](WorldOptions& world) {
    world.job.uri.clear();
    world.troubles.replace_chief = world.troubles.store_away = false;
  });
}

TEST(SimulatedLies, WithoutTheFlushTheRestOfAQueueIsMissing) {
  ExpectFinds(Lie::kNoFlush, Policy::kAggregate, "EndExact");
}

TEST(SimulatedLies, ATimelineThatIsNotStoredYetMustNotBeHeardOf) {
  ExpectFindsInStore(Lie::kHastyView, Policy::kAsync, "ViewStands");
}

TEST(SimulatedLies, AStreamMustNotBeClosedBeforeItsEndIsStored) {
  ExpectFindsInStore(Lie::kHastyClose, Policy::kAsync, "ClosesStand");
}

TEST(SimulatedLies, AChiefThatMissesTheLastCheckpointGoesTooFarBack) {
  ExpectFindsInStore(Lie::kForgetNewest, Policy::kSync, "NewestIsUsed");
}

TEST(SimulatedLies, WithoutTheConditionAnOldChiefWritesOverANewOne) {
  ExpectFindsInStore(Lie::kNoFence, Policy::kAsync, "TermsRise");
}

TEST(SimulatedLies, AStoreThatForgetsAPartitionIsNoticed) {
  ExpectFindsInStore(Lie::kForgetfulStore, Policy::kSsp, "ManifestWhole");
}

void ExpectFindsAfterLosses(Lie lie, const char* invariant) {
  ExpectFinds(lie, Policy::kAsync, invariant, [](WorldOptions& world) {
    world.job.uri = "sim://jobs";
    world.job.checkpoint_seconds = 2;
    world.job.recovery = v1::RECOVERY_PARTIAL;
    world.troubles.kill_shards = world.troubles.freeze_workers = true;
  });
}

TEST(SimulatedLies, AShardThatReturnsAloneAndIsNotToldMissesWhatItHasLost) {
  ExpectFindsAfterLosses(Lie::kNotTold, "LossIsTold");
}

TEST(SimulatedLies, ALossThatNobodyTellsIsNoticed) {
  ExpectFindsAfterLosses(Lie::kSilentLoss, "LossIsTold");
}

TEST(SimulatedLies, AShardThatIsNewAndBeginsWithNothingLacksWhatWasTrained) {
  ExpectFinds(Lie::kEmptyNewShard, Policy::kAsync, "EndExact", [](WorldOptions& world) {
    world.job.uri = "sim://jobs";
    world.job.checkpoint_seconds = 1;
    world.job.tasks = 12;
    world.job.partitions = 6;
    world.troubles.grow = true;
  });
}

TEST(SimulatedLies, ASoundCheckpointMustNotBePassedOver) {
  ExpectFindsInStore(Lie::kFalseAlarm, Policy::kAsync, "NewestIsUsed");
}

void ExpectFindsInMoves(Lie lie, Policy policy, const char* invariant) {
  ExpectFinds(lie, policy, invariant, [lie, policy](WorldOptions& world) {
    world = MovesOf(world.seed);
    world.lie = lie;
    world.job.policy = policy;
    world.job.recovery = v1::RECOVERY_ROLLBACK;
    world.job.staleness = 0;
    world.job.uri.clear();
    world.troubles = {.between = absl::Milliseconds(700)};
    world.troubles.weather.dawdle = 0.05;
    world.troubles.join_shards = world.troubles.leave_shards = world.troubles.rebalance = true;
  });
}

TEST(SimulatedLies, APartitionThatGoesOnBeforeAViewEndsItsMoveLosesPushes) {
  ExpectFindsInMoves(Lie::kThawsAlone, Policy::kAsync, "EndExact|OneOwner");
}

TEST(SimulatedLies, AClockThatCountsByWhateverViewItIsToldBreaksTheBound) {
  ExpectFindsInMoves(Lie::kClockOfAnyView, Policy::kSsp, "BoundHolds");
}

TEST(SimulatedLies, AnOwnerThatAcknowledgesWithoutItsBackupLosesPushes) {
  ExpectFinds(Lie::kAlone, Policy::kAsync, "EndExact", [](WorldOptions& world) {
    world = BackupsOf(world.seed);
    world.lie = Lie::kAlone;
    world.job.policy = Policy::kAsync;
    world.job.recovery = v1::RECOVERY_ROLLBACK;
    world.shards = 3;
    world.troubles = {.between = absl::Seconds(1)};
    world.troubles.kill_backed = true;
  });
}

void Print(uint64_t seed, const Verdict& verdict) {
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "seed %llu: %s, %llu events, %.1f s, %llu timelines, %llu chiefs, %llu checkpoints, %llu "
      "moves, %llu promotions, digest %016llx\n",
      number(seed), verdict.violation.empty() ? "every rule held" : verdict.violation.c_str(),
      number(verdict.events), absl::ToDoubleSeconds(verdict.length), number(verdict.timelines),
      number(verdict.terms), number(verdict.manifests), number(verdict.moved),
      number(verdict.promotions), number(verdict.digest));
  std::fflush(stdout);
}

// Tells of one history; of many only those that break a rule.
int RunFrom(MakeWorld make, uint64_t first, uint64_t count, bool trace) {
  uint64_t broken = 0;
  uint64_t moved = 0;
  uint64_t promotions = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    WorldOptions world = make(seed);
    world.trace = trace;
    const Verdict verdict = Play(world);
    broken += verdict.violation.empty() ? 0 : 1;
    moved += verdict.moved;
    promotions += verdict.promotions;
    if (count == 1 || !verdict.violation.empty()) Print(seed, verdict);
  }
  std::printf("%llu seeds, %llu moves of partitions, %llu promotions\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(moved),
              static_cast<unsigned long long>(promotions));
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace capstan::sim

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  std::optional<uint64_t> first;
  uint64_t count = 1;
  bool trace = false;
  capstan::sim::MakeWorld make = capstan::sim::WorldOf;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--trace") trace = true;
    if (word == "--moves") make = capstan::sim::MovesOf;
    if (word == "--replicas") make = capstan::sim::BackupsOf;
    if (i + 1 == argc) continue;
    const uint64_t number = std::strtoull(argv[i + 1], nullptr, 10);
    if (word == "--seeds") {
      capstan::sim::g_seeds = capstan::sim::g_move_seeds = capstan::sim::g_backup_seeds = number;
    }
    if (word == "--seed") first = number;
    if (word == "--count") count = number;
  }
  // What savers and loaders say comes in real time, and is of little use here.
  capstan::log::Init({.level = capstan::log::Level::kError});
  if (first) return capstan::sim::RunFrom(make, *first, count, trace);
  return RUN_ALL_TESTS();
}
