// The whole of Capstan in one thread, under faults drawn from a seed.
//
//   sim_test                    every test
//   sim_test --seeds 5000       so many seeds in each part
//   sim_test --seed 17 --trace  one history, told as it happens
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "tests/simulation/sim/world.h"

namespace capstan::sim {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kParts = 12;
uint64_t g_seeds = 170;  // Of each part.

Verdict Play(const WorldOptions& options) { return World(options).Run(); }

// The seeds in parts, so that several cores have something to do.
class Seeds : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Seeds, NoRuleIsBrokenWhateverHappens) {
  constexpr int kEnough = 5;  // Failures.
  int broken = 0;
  for (uint64_t i = 0; i < g_seeds && broken < kEnough; ++i) {
    const uint64_t seed = 1 + i * kParts + GetParam();
    const Verdict verdict = Play(WorldOf(seed));
    EXPECT_EQ(verdict.violation, "") << "see: sim_test --seed " << seed << " --trace";
    broken += verdict.violation.empty() ? 0 : 1;
  }
}
INSTANTIATE_TEST_SUITE_P(Parts, Seeds, ::testing::Range(uint64_t{0}, kParts));

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

// ---- the simulation is known to find mistakes: each test takes one rule away ----

void ExpectFinds(Lie lie, Policy policy, const char* invariant) {
  constexpr uint64_t kSeeds = 1000;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    WorldOptions world = WorldOf(seed);
    world.lie = lie;
    world.job.policy = policy;
    world.job.lanes = std::max(world.job.lanes, 3u);
    world.shards = std::max(world.shards, 2u);
    world.troubles.between = absl::Milliseconds(500);
    world.troubles.drain_workers = world.troubles.freeze_workers = true;
    const Verdict verdict = Play(world);
    if (verdict.violation.empty()) continue;
    EXPECT_THAT(verdict.violation, HasSubstr(invariant)) << "seed " << seed;
    return;
  }
  ADD_FAILURE() << "not found in " << kSeeds << " seeds";
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

TEST(SimulatedLies, AClockToldTooEarlyBreaksTheBound) {
  ExpectFinds(Lie::kEagerClock, Policy::kSsp, "BoundHolds");
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
  ExpectFinds(Lie::kNoCommit, Policy::kSync, "EndExact");
}

TEST(SimulatedLies, WithoutTheFlushTheRestOfAQueueIsMissing) {
  ExpectFinds(Lie::kNoFlush, Policy::kAggregate, "EndExact");
}

int RunOne(uint64_t seed, bool trace) {
  WorldOptions world = WorldOf(seed);
  world.trace = trace;
  const Verdict verdict = Play(world);
  std::printf(
      "seed %llu: %s, %llu events, %.1f s, digest %016llx\n", static_cast<unsigned long long>(seed),
      verdict.violation.empty() ? "every rule held" : verdict.violation.c_str(),
      static_cast<unsigned long long>(verdict.events), absl::ToDoubleSeconds(verdict.length),
      static_cast<unsigned long long>(verdict.digest));
  return verdict.violation.empty() ? 0 : 1;
}

}  // namespace
}  // namespace capstan::sim

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  std::optional<uint64_t> one;
  bool trace = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--trace") trace = true;
    if (i + 1 == argc) continue;
    const uint64_t number = std::strtoull(argv[i + 1], nullptr, 10);
    if (word == "--seeds") capstan::sim::g_seeds = number;
    if (word == "--seed") one = number;
  }
  if (one) return capstan::sim::RunOne(*one, trace);
  return RUN_ALL_TESTS();
}
