#include "capstan/metrics/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "capstan/metrics/buckets.h"
#include "capstan/metrics/declaration.h"
#include "capstan/metrics/process_metrics.h"

namespace capstan::metrics {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr CounterDeclaration kPushes = {"capstan_pushes_total", "Pushes.", "code"};
constexpr GaugeDeclaration kStepRate = {"capstan_worker_step_rate", "Steps/s.", "worker"};

TEST(RegistryTest, ShowsACounterWithHelpTypeAndLabels) {
  Registry registry;
  registry.AddCounter({"capstan_pushes_total", "Push requests.", "code"}, {{"code", "OK"}}).Add(2);
  EXPECT_EQ(registry.Text(),
            "# HELP capstan_pushes_total Push requests.\n"
            "# TYPE capstan_pushes_total counter\n"
            "capstan_pushes_total{code=\"OK\"} 2\n");
}

TEST(RegistryTest, AGaugeGoesUpAndDown) {
  Registry registry;
  Gauge& gauge = registry.AddGauge({"capstan_inflight_requests", "Requests being served."});
  gauge.Add(3);
  gauge.Add(-1);
  EXPECT_THAT(registry.Text(), HasSubstr("capstan_inflight_requests 2\n"));
  gauge.Set(0.5);
  EXPECT_THAT(registry.Text(), HasSubstr("capstan_inflight_requests 0.5\n"));
}

TEST(RegistryTest, AHistogramCountsAValueInTheBucketWhoseUpperBoundItDoesNotExceed) {
  Registry registry;
  Histogram& staleness = registry.AddHistogram({"capstan_staleness", "Staleness."}, {0, 1, 2});
  staleness.Observe(0);
  staleness.Observe(1, /*times=*/2);
  staleness.Observe(1.5);
  staleness.Observe(7);
  EXPECT_THAT(registry.Text(), AllOf(HasSubstr("capstan_staleness_bucket{le=\"0\"} 1\n"),
                                     HasSubstr("capstan_staleness_bucket{le=\"1\"} 3\n"),
                                     HasSubstr("capstan_staleness_bucket{le=\"2\"} 4\n"),
                                     HasSubstr("capstan_staleness_bucket{le=\"+Inf\"} 5\n"),
                                     HasSubstr("capstan_staleness_count 5\n"),
                                     HasSubstr("capstan_staleness_sum 10.5\n")));
}

TEST(RegistryTest, TheSameNameAndLabelsAreTheSameSeries) {
  Registry registry;
  Counter& one = registry.AddCounter(kPushes, {{"code", "OK"}});
  Counter& same = registry.AddCounter(kPushes, {{"code", "OK"}});
  Counter& other = registry.AddCounter(kPushes, {{"code", "ABORTED"}});
  EXPECT_EQ(&one, &same);
  EXPECT_NE(&one, &other);
}

TEST(RegistryTest, ARemovedSeriesIsGoneAndTheOthersStay) {
  Registry registry;
  Gauge& left = registry.AddGauge(kStepRate, {{"worker", "w-0"}});
  registry.AddGauge(kStepRate, {{"worker", "w-1"}});
  registry.Remove(left);
  EXPECT_THAT(registry.Text(), AllOf(Not(HasSubstr("w-0")), HasSubstr("w-1")));
}

TEST(RegistryTest, AMetricWithoutSeriesIsNotShown) {
  Registry registry;
  registry.Remove(registry.AddGauge(kStepRate, {{"worker", "w-0"}}));
  EXPECT_EQ(registry.Text(), "");
}

TEST(RegistryTest, LabelValuesFromOutsideAreEscaped) {
  Registry registry;
  registry.AddGauge({"capstan_rows", "Rows.", "table"}, {{"table", "a\"b\n"}}).Set(1);
  EXPECT_THAT(registry.Text(), HasSubstr("capstan_rows{table=\"a\\\"b\\n\"} 1\n"));
}

TEST(RegistryTest, NoUpdateIsLostBetweenThreads) {
  Registry registry;
  Counter& counter = registry.AddCounter({"capstan_steps_total", "Steps."});
  Histogram& histogram = registry.AddHistogram({"capstan_wait_seconds", "Waits."}, WaitBuckets());
  constexpr int kEach = 20000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        counter.Add();
        histogram.Observe(1);
        if (i % 1000 == 0) registry.Text();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.value(), 4 * kEach);
  EXPECT_EQ(histogram.sum(), 4 * kEach);
  EXPECT_EQ(histogram.counts()[9], 4 * kEach);  // The bucket that ends at 1 s.
}

TEST(RegistryTest, BuildInfoSaysWhatRuns) {
  Registry registry;
  AddBuildInfo(registry);
  EXPECT_THAT(registry.Text(), AllOf(HasSubstr("capstan_build_info{"), HasSubstr("revision=\""),
                                     HasSubstr("version=\""), HasSubstr("} 1\n")));
}

TEST(RegistryTest, SamplesAreTakenBeforeEachCollection) {
  Registry registry;
  Gauge& seen = registry.AddGauge({"capstan_rows", "Rows."});
  registry.BeforeCollect([&seen] { seen.Add(1); });
  EXPECT_THAT(registry.Text(), HasSubstr("capstan_rows 1\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("capstan_rows 2\n"));
}

TEST(ProcessMetricsTest, CpuTimeAndMemoryAreThoseOfThisProcess) {
  Registry registry;
  AddProcessMetrics(registry);
  const auto value = [](const std::string& text, const std::string& name) {
    return std::stod(text.substr(text.find("\n" + name + " ") + name.size() + 2));
  };
  const std::string before = registry.Text();
  const double cpu = value(before, "capstan_process_cpu_seconds_total");
  while (std::clock() < (cpu + 0.05) * CLOCKS_PER_SEC) {
  }
  const std::vector<char> block(64 << 20, 1);
  const std::string after = registry.Text();
  EXPECT_GE(value(after, "capstan_process_cpu_seconds_total"), cpu + 0.04);
  EXPECT_GE(value(after, "capstan_process_resident_bytes"),
            value(before, "capstan_process_resident_bytes") + 0.9 * block.size());
}

TEST(RegistryDeathTest, ANameAgainstTheRulesIsABug) {
  Registry registry;
  EXPECT_DEATH(registry.AddCounter({"capstan_pushes", "No _total."}), "IsMetricName");
  EXPECT_DEATH(registry.AddGauge({"capstan_rows", ""}), "help");
  const GaugeDeclaration rows = {"capstan_rows", "Rows.", "Table"};
  EXPECT_DEATH(registry.AddGauge(rows, {{"Table", "x"}}), "IsLabelName");
}

TEST(RegistryDeathTest, TwoMeaningsOfOneNameAreABug) {
  Registry registry;
  registry.AddGauge({"capstan_rows", "Rows.", "table"}, {{"table", "x"}});
  const HistogramDeclaration histogram = {"capstan_rows", "Rows.", "table"};
  EXPECT_DEATH(registry.AddHistogram(histogram, {1}, {{"table", "x"}}), "kind");
  const GaugeDeclaration lines = {"capstan_rows", "Lines.", "table"};
  EXPECT_DEATH(registry.AddGauge(lines, {{"table", "x"}}), "help");
  const GaugeDeclaration by_shard = {"capstan_rows", "Rows.", "shard"};
  EXPECT_DEATH(registry.AddGauge(by_shard, {{"shard", "x"}}), "label_names");
}

TEST(RegistryDeathTest, ASeriesWithOtherLabelsThanTheDeclarationNamesIsABug) {
  Registry registry;
  EXPECT_DEATH(registry.AddCounter(kPushes), "label_names");
  EXPECT_DEATH(registry.AddCounter(kPushes, {{"code", "OK"}, {"op", "x"}}), "label_names");
}

}  // namespace
}  // namespace capstan::metrics
