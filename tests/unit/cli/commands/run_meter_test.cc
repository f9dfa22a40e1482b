#include "cli/commands/run_meter.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace capstan::cli {
namespace {

constexpr uint64_t kBatch = 10;
constexpr absl::Time kBegin = absl::UnixEpoch();

// A job whose worker and shard have used what a test says.
class RunMeterTest : public testing::Test {
 protected:
  // What the chief tells `seconds` after the beginning, of `workers` workers whose steps compute
  // for half a second.
  bool See(double seconds, uint64_t examples, int workers = 1) {
    v1::GetStatusReply status;
    status.set_examples(examples);
    for (int i = 0; i < workers; ++i) {
      status.add_workers()->mutable_report()->set_compute_seconds(.5);
    }
    return meter_.See(status, kBegin + absl::Seconds(seconds), [this] {
      ++asked_;
      return used_;
    });
  }

  RunMeter meter_{/*at_work=*/absl::Seconds(8), kBatch};
  CrewUsage used_ = {.worker_cpu = 1, .shard_cpu = 1, .worker_bytes = 100};
  int asked_ = 0;
};

TEST_F(RunMeterTest, WhatCountsIsWhatABatchCostsAfterTheWarmUp) {
  EXPECT_FALSE(See(0, 0)) << "nothing has been trained";
  EXPECT_FALSE(See(1, 10));
  EXPECT_FALSE(See(3, 1000)) << "it warms up still";
  EXPECT_EQ(asked_, 0);
  used_ = {.worker_cpu = 10, .shard_cpu = 5, .worker_bytes = 200};
  EXPECT_FALSE(See(4, 1000 + kBatch));
  used_ = {.worker_cpu = 50, .shard_cpu = 9, .worker_bytes = 300};
  EXPECT_TRUE(See(12, 1000 + 41 * kBatch));
  const MeasuredRun run = meter_.Result();
  EXPECT_DOUBLE_EQ(run.batch.compute_seconds, .5);
  EXPECT_DOUBLE_EQ(run.worker_cpu_seconds, 1);
  EXPECT_DOUBLE_EQ(run.shard_cpu_seconds, .1);
  EXPECT_DOUBLE_EQ(run.worker_bytes, 300);
}

TEST_F(RunMeterTest, ManyBatchesAreNotEnoughBeforeTheTimeIsOver) {
  EXPECT_FALSE(See(0, 1));
  EXPECT_FALSE(See(3, 100));
  EXPECT_FALSE(See(10.9, 100 + 99 * kBatch)) << "eight seconds are not over";
  EXPECT_TRUE(See(11, 100 + 100 * kBatch));
}

TEST_F(RunMeterTest, AJobThatTrainsSlowlyIsMeasuredUntilTheBatchesAreEnough) {
  EXPECT_FALSE(See(0, 1));
  EXPECT_FALSE(See(3, 100));
  EXPECT_FALSE(See(60, 100 + kFewestBatches * kBatch - 1)) << "the batches are not enough";
  EXPECT_TRUE(See(61, 100 + kFewestBatches * kBatch));
}

TEST_F(RunMeterTest, AStatusWithoutProgressCostsNothing) {
  EXPECT_FALSE(See(0, 1));
  EXPECT_FALSE(See(3, 100));
  EXPECT_EQ(asked_, 1);
  EXPECT_FALSE(See(20, 100));
  EXPECT_EQ(asked_, 1);
}

TEST_F(RunMeterTest, ItBeginsAgainWhereTheJobHasLostProgress) {
  EXPECT_FALSE(See(0, 1));
  EXPECT_FALSE(See(3, 1000));
  EXPECT_FALSE(See(12, 500)) << "a rollback, after which the difference would be below 0";
  EXPECT_FALSE(See(14, 900)) << "it warms up";
  EXPECT_FALSE(See(15, 1000));
  EXPECT_FALSE(See(22, 2000));
  used_.worker_cpu += 100;
  EXPECT_TRUE(See(23, 2000 + kBatch));
  EXPECT_DOUBLE_EQ(meter_.Result().worker_cpu_seconds, 100. / 101);
}

TEST_F(RunMeterTest, ItBeginsAgainWhereAProcessWasStartedAnewOrIsNotThere) {
  for (const CrewUsage& anew : {CrewUsage{.worker_cpu = .5, .shard_cpu = 9, .worker_bytes = 1},
                                CrewUsage{.worker_cpu = 9, .shard_cpu = 0, .worker_bytes = 1}}) {
    RunMeter meter(absl::Seconds(8), kBatch);
    const auto see = [&meter](int seconds, uint64_t examples, const CrewUsage& used) {
      v1::GetStatusReply status;
      status.set_examples(examples);
      status.add_workers();
      return meter.See(status, kBegin + absl::Seconds(seconds), [&used] { return used; });
    };
    EXPECT_FALSE(see(0, 1, used_));
    EXPECT_FALSE(see(3, 1000, used_));
    EXPECT_FALSE(see(12, 2000, anew));
    EXPECT_FALSE(see(14, 3000, anew)) << "it warms up";
    EXPECT_FALSE(see(15, 3000 + kBatch, anew));
    EXPECT_TRUE(see(23, 4000, anew));
    EXPECT_EQ(meter.Result().worker_cpu_seconds, 0);
  }
}

TEST_F(RunMeterTest, WithoutAReportOfAWorkerThereIsNoMeanOfSteps) {
  EXPECT_FALSE(See(0, 1, /*workers=*/0));
  EXPECT_FALSE(See(3, 1000, /*workers=*/0));
  EXPECT_FALSE(See(12, 2000, /*workers=*/0));
  EXPECT_TRUE(See(13, 2001, /*workers=*/2));
  EXPECT_DOUBLE_EQ(meter_.Result().batch.compute_seconds, .5);
}

}  // namespace
}  // namespace capstan::cli
