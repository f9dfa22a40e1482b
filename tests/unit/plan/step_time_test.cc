#include "capstan/plan/step_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tests/unit/plan/dense_job.h"

namespace capstan {
namespace {

constexpr Scale kTwoShards = {.workers = 4, .shards = 2, .network_bytes_per_second = 8e6};

v1::JobSpec AsyncJob(uint32_t aggregate = 0) {
  v1::JobSpec job = DenseJob(0);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_dense_update()->set_aggregate(aggregate);
  return job;
}

Pace PaceWith(const v1::JobSpec& job, const Scale& scale, const Rates& rates = {},
              const BatchTime& batch = {.compute_seconds = 3, .deviation_seconds = 0.5}) {
  const absl::StatusOr<Traffic> traffic = TrafficOf(job, /*keys=*/0, scale.shards);
  EXPECT_TRUE(traffic.ok()) << traffic.status();
  return PaceOf(job, *traffic, scale, rates, batch);
}

double ShardSeconds(const v1::JobSpec& job, const Rates& rates, int shards = 1) {
  return CpuOfTransfers(job, *TrafficOf(job, /*keys=*/0, shards), shards, rates).shard_seconds;
}

TEST(NormalRankTest, RanksFromBothEndsAreOpposite) {
  double before = -10;
  for (uint64_t rank = 1; rank <= 9; ++rank) {
    EXPECT_GT(NormalRank(rank, 9), before);
    before = NormalRank(rank, 9);
    EXPECT_NEAR(NormalRank(rank, 9), -NormalRank(10 - rank, 9), 1e-9);
  }
  EXPECT_NEAR(NormalRank(5, 9), 0, 1e-9);
  EXPECT_NEAR(NormalRank(1, 1), 0, 1e-9);
  // Phi(0.589) is (2 - 3/8) / (2 + 1/4).
  EXPECT_NEAR(NormalRank(2, 2), 0.5895, 1e-3);
}

TEST(PaceOfTest, TheLongestLoadComesFirstAndIdleResourcesAreNotNamed) {
  for (const v1::JobSpec& job : {DenseJob(4), AsyncJob()}) {
    for (const bool one_machine : {false, true}) {
      Scale scale = kTwoShards;
      scale.one_machine = one_machine;
      const Pace pace = PaceWith(job, scale);
      ASSERT_FALSE(pace.loads.empty());
      EXPECT_TRUE(std::is_sorted(
          pace.loads.begin(), pace.loads.end(),
          [](const Load& one, const Load& other) { return one.seconds > other.seconds; }));
      for (const Load& load : pace.loads) {
        EXPECT_GT(load.seconds, 0) << load.what;
        if (one_machine) {
          EXPECT_EQ(load.what.find("network"), std::string::npos) << load.what;
        }
      }
      EXPECT_GE(pace.step.total(), pace.loads.front().seconds - 1e-9) << "nothing is that fast";
    }
  }
}

TEST(PaceOfTest, ABackupWorkersBatchesDoNotCountAndAreNotWaitedFor) {
  v1::JobSpec job = DenseJob(4);
  const Pace all = PaceWith(job, kTwoShards);
  EXPECT_NEAR(all.batches_per_second, 4 / all.step.total(), 1e-9);
  job.mutable_dense_update()->set_backup_workers(1);
  const Pace three = PaceWith(job, kTwoShards);
  EXPECT_NEAR(three.batches_per_second, 3 / three.step.total(), 1e-9);
  EXPECT_LT(three.step.wait, all.step.wait);
}

TEST(PaceOfTest, NothingIsSlowerForAFasterNetworkOrMoreCores) {
  const Rates rates = {.pulled_byte = {1e-8, 2e-8},
                       .pushed_byte = {1e-8, 2e-8},
                       .call = {1e-4, 1e-4},
                       .call_seconds = 1e-3,
                       .added_float = 1e-9,
                       .applied_float = 5e-9};
  for (const v1::JobSpec& job : {DenseJob(4), DenseJob(8), AsyncJob(), AsyncJob(3)}) {
    for (const bool one_machine : {false, true}) {
      Scale scale = kTwoShards;
      scale.one_machine = one_machine;
      double before = 0;
      for (const double factor : {0.5, 1.0, 2.0, 8.0}) {
        scale.network_bytes_per_second = 8e6 * factor;
        scale.cores = 2 * factor;
        const double pace = PaceWith(job, scale, rates).batches_per_second;
        EXPECT_GE(pace, before * (1 - 1e-12)) << factor;
        before = pace;
      }
    }
  }
}

TEST(CpuOfTransfersTest, GradientsThatAreAppliedTogetherAreAddedAndShareTheUpdate) {
  const Rates rates = {.added_float = 1e-9, .applied_float = 8e-9};
  EXPECT_NEAR(ShardSeconds(AsyncJob(), rates), 8e-3, 1e-9) << "a million floats";
  EXPECT_NEAR(ShardSeconds(AsyncJob(1), rates), 8e-3, 1e-9);
  EXPECT_NEAR(ShardSeconds(AsyncJob(4), rates), 1e-3 + 2e-3, 1e-9);
  EXPECT_NEAR(ShardSeconds(DenseJob(8), rates), 1e-3 + 1e-3, 1e-9) << "so do those of a round";
}

TEST(CpuOfTransfersTest, AnOptimizerCostsWhatItsOwnRateSays) {
  const Rates rates = {.applied_float = 8e-9, .applied = {{"sgd", 2e-9}, {"adam", 1}}};
  EXPECT_NEAR(ShardSeconds(AsyncJob(), rates), 2e-3, 1e-9);
}

TEST(CpuOfTransfersTest, ABackupIsSentWhatItsOwnerIsPushed) {
  const Rates rates = {.pulled_byte = {.shard_seconds = 1e-9},
                       .pushed_byte = {.shard_seconds = 1e-9}};
  v1::JobSpec job = AsyncJob();
  const double alone = ShardSeconds(job, rates, /*shards=*/2);
  EXPECT_NEAR(alone, 4e-3 + 4e-3, 1e-6);
  job.set_replicas(1);
  EXPECT_NEAR(ShardSeconds(job, rates, /*shards=*/2), 4e-3 + 2 * 4e-3, 1e-6);
  EXPECT_NEAR(ShardSeconds(job, rates, /*shards=*/1), alone, 1e-9) << "there is no other shard";
}

}  // namespace
}  // namespace capstan
