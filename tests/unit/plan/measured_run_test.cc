#include "capstan/plan/measured_run.h"

#include <gtest/gtest.h>

#include "capstan/plan/plan.h"
#include "tests/unit/plan/dense_job.h"

namespace capstan {
namespace {

// The CPU seconds of a batch of `job` with one shard, by `rates`.
Ends CpuOf(const v1::JobSpec& job, const Rates& rates) {
  const absl::StatusOr<Traffic> traffic = TrafficOf(job, /*keys=*/0, /*shards=*/1);
  EXPECT_TRUE(traffic.ok()) << traffic.status();
  return CpuOfTransfers(job, *traffic, /*shards=*/1, rates);
}

TEST(MeasuredRunTest, ABatchCostsWhatItDidInTheRun) {
  v1::JobSpec job = DenseJob(4);
  job.set_job("dense");
  const MeasuredRun run = {.origin = "measured",
                           .batch = {.compute_seconds = 0.5, .read_seconds = 0.25},
                           .worker_cpu_seconds = 0.76,
                           .shard_cpu_seconds = 0.02,
                           .worker_bytes = 500e6};
  const absl::StatusOr<Rates> rates = Calibrated(RecordedRates(), job, {}, run);
  ASSERT_TRUE(rates.ok()) << rates.status();
  EXPECT_NEAR(CpuOf(job, *rates).worker_seconds, 0.01, 1e-9) << "beside computing and reading";
  EXPECT_NEAR(CpuOf(job, *rates).shard_seconds, 0.02, 1e-9);
  EXPECT_EQ(rates->batches.at("dense").compute_seconds, 0.5);
  EXPECT_EQ(rates->origin, "measured");
  const absl::StatusOr<Plan> plan = MakePlan(job, {}, {}, *rates, rates->batches.at("dense"));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_NEAR(static_cast<double>(plan->sizes.worker.bytes()), 500e6, 1) << "as it was";
}

TEST(MeasuredRunTest, ARestThatIsNoMeasureChangesARateByAFewTimesAtTheMost) {
  v1::JobSpec job = DenseJob(4);
  const Ends recorded = CpuOf(job, RecordedRates());
  const MeasuredRun run = {
      .batch = {.compute_seconds = 0.5}, .worker_cpu_seconds = 0.49, .shard_cpu_seconds = 1000};
  const absl::StatusOr<Rates> rates = Calibrated(RecordedRates(), job, {}, run);
  ASSERT_TRUE(rates.ok()) << rates.status();
  EXPECT_NEAR(CpuOf(job, *rates).worker_seconds, kLeastFactor * recorded.worker_seconds, 1e-9);
  EXPECT_NEAR(CpuOf(job, *rates).shard_seconds, kMostFactor * recorded.shard_seconds, 1e-9);
}

}  // namespace
}  // namespace capstan
