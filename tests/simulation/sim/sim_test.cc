// The whole of Capstan in one thread, under faults drawn from a seed: no rule is broken.
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/simulation/sim/seeds.h"
#include "tests/simulation/sim/world.h"

namespace capstan::sim {
namespace {

constexpr uint64_t kParts = 12;

const char* OptionOf(MakeWorld make) {
  if (make == BackupsOf) return " --replicas";
  return make == MovesOf ? " --moves" : "";
}

void PlaySeeds(MakeWorld make, uint64_t count, uint64_t part) {
  constexpr int kEnough = 5;  // Failures.
  int broken = 0;
  for (uint64_t i = 0; i < count && broken < kEnough; ++i) {
    const uint64_t seed = 1 + i * kParts + part;
    const Verdict verdict = World(make(seed)).Run();
    EXPECT_EQ(verdict.violation, "")
        << "see: sim_test" << OptionOf(make) << " --seed " << seed << " --trace";
    broken += verdict.violation.empty() ? 0 : 1;
  }
}

// The seeds in parts, so that several cores have something to do.
class Seeds : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Seeds, NoRuleIsBrokenWhateverHappens) { PlaySeeds(WorldOf, g_seed_counts.any, GetParam()); }
INSTANTIATE_TEST_SUITE_P(Parts, Seeds, ::testing::Range(uint64_t{0}, kParts));

// The same, of jobs whose shards come and go.
class Moves : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Moves, NoRuleIsBrokenWhateverHappens) {
  PlaySeeds(MovesOf, g_seed_counts.moves, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Parts, Moves, ::testing::Range(uint64_t{0}, kParts));

// The same, of jobs whose shards back each other up.
class Backups : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Backups, NoRuleIsBrokenWhateverHappens) {
  PlaySeeds(BackupsOf, g_seed_counts.backups, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Parts, Backups, ::testing::Range(uint64_t{0}, kParts));

TEST(Simulation, ASeedIsOneHistory) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Verdict once = World(WorldOf(seed)).Run();
    const Verdict again = World(WorldOf(seed)).Run();
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
    const Verdict verdict = World(world).Run();
    EXPECT_EQ(verdict.violation, "") << NameOf(policy);
    EXPECT_LT(verdict.length, absl::Seconds(30)) << NameOf(policy);
  }
}

// In some histories the job is over before the shard has come.
TEST(Simulation, AJobThatIsGivenAnotherShardIsSpreadOverIt) {
  for (Policy policy : kAllPolicies) {
    int spread = 0;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      WorldOptions world;
      world.seed = seed;
      world.job.policy = policy;
      world.job.uri = "sim://jobs";
      world.job.tasks = 40;
      world.troubles.grow = true;
      world.troubles.between = absl::Milliseconds(50);
      world.troubles.until = absl::Seconds(5);
      const Verdict verdict = World(world).Run();
      EXPECT_EQ(verdict.violation, "") << NameOf(policy) << ", seed " << seed;
      spread += verdict.shards == 3 ? 1 : 0;
    }
    EXPECT_GE(spread, 3) << NameOf(policy);
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
      const Verdict verdict = World(world).Run();
      EXPECT_EQ(verdict.violation, "") << NameOf(policy) << ", seed " << seed;
      EXPECT_EQ(verdict.timelines, 1u) << NameOf(policy) << ", seed " << seed;
      promotions += verdict.promotions;
    }
    EXPECT_GT(promotions, 0u) << NameOf(policy);
  }
}

}  // namespace
}  // namespace capstan::sim
