#include "worker/shell/worker_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace capstan::worker {
namespace {

using testing::HasSubstr;
using testing::Not;

class WorkerMetricsTest : public testing::Test {
 protected:
  metrics::Registry registry_;
  WorkerMetrics metrics_{registry_};
};

TEST_F(WorkerMetricsTest, TimeInWhichAThreadStoodIsCountedByWhatItWaitedFor) {
  const IdleTime idle = {.work = absl::Seconds(1),
                         .data = absl::Seconds(2),
                         .turn = absl::Seconds(4),
                         .pull = absl::Seconds(8)};
  metrics_.CountIdle(idle, /*of_lane=*/false);
  metrics_.CountIdle(idle, /*of_lane=*/true);
  metrics_.CountIdle(idle, /*of_lane=*/true);
  const std::string text = registry_.Text();
  const std::string counter = "\ncapstan_worker_idle_seconds_total{awaited=";
  EXPECT_THAT(text, HasSubstr(counter + "\"work\"} 3\n"));
  EXPECT_THAT(text, HasSubstr(counter + "\"data\"} 6\n"));
  EXPECT_THAT(text, HasSubstr(counter + "\"push\"} 4\n")) << "a task waits for its pushes";
  EXPECT_THAT(text, HasSubstr(counter + "\"round\"} 8\n")) << "a lane waits for its round";
  EXPECT_THAT(text, HasSubstr(counter + "\"pull\"} 24\n"));
}

TEST_F(WorkerMetricsTest, RetriesAreCountedByShardAndStatusAndNoneIsShownBeforeOne) {
  EXPECT_THAT(registry_.Text(), Not(HasSubstr("capstan_worker_rpc_retries_total{")));
  metrics_.CountRetry(ShardIndex{2}, absl::StatusCode::kUnavailable);
  metrics_.CountRetry(ShardIndex{2}, absl::StatusCode::kUnavailable);
  metrics_.CountRetry(ShardIndex{2}, absl::StatusCode::kOutOfRange);
  metrics_.CountRetry(ShardIndex{0}, absl::StatusCode::kUnavailable);
  const std::string text = registry_.Text();
  const std::string counter = "\ncapstan_worker_rpc_retries_total{code=";
  EXPECT_THAT(text, HasSubstr(counter + "\"UNAVAILABLE\",shard=\"2\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(counter + "\"OUT_OF_RANGE\",shard=\"2\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(counter + "\"UNAVAILABLE\",shard=\"0\"} 1\n"));
}

TEST_F(WorkerMetricsTest, NormsOfAllSizesHaveABucket) {
  for (const double norm : {1e-7, 1e-6, 0.5, 1e4}) metrics_.gradient_norm.Observe(norm);
  metrics_.gradient_norm.Observe(1e5);
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("capstan_worker_gradient_norm_bucket{le=\"1\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("capstan_worker_gradient_norm_bucket{le=\"+Inf\"} 5\n"));
}

}  // namespace
}  // namespace capstan::worker
