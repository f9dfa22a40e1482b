#include "capstan/metrics/process_metrics.h"

#include <gtest/gtest.h>

#include <thread>

namespace capstan::metrics {
namespace {

TEST(ProcessMetricsTest, CpuTimeGrowsWithWhatIsComputed) {
  const double before = ProcessCpuSeconds();
  volatile double sum = 0;
  while (ProcessCpuSeconds() < before + 0.01) sum = sum + 1;
  EXPECT_GT(sum, 1000);
}

TEST(ProcessMetricsTest, NoMoreCpuTimeMayBeUsedThanThereAreProcessors) {
  EXPECT_GT(ProcessCpuCores(), 0);
  EXPECT_LE(ProcessCpuCores(), std::thread::hardware_concurrency());
}

}  // namespace
}  // namespace capstan::metrics
