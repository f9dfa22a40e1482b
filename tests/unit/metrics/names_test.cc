#include "capstan/metrics/names.h"

#include <gtest/gtest.h>

namespace capstan::metrics {
namespace {

TEST(IsMetricNameTest, WantsThePrefixAndTotalOnCountersOnly) {
  EXPECT_TRUE(IsMetricName("capstan_pushes_total", Kind::kCounter));
  EXPECT_TRUE(IsMetricName("capstan_model_version", Kind::kGauge));
  EXPECT_FALSE(IsMetricName("pushes_total", Kind::kCounter));
  EXPECT_FALSE(IsMetricName("capstan_pushes", Kind::kCounter));
  EXPECT_FALSE(IsMetricName("capstan_rows_total", Kind::kGauge));
  EXPECT_FALSE(IsMetricName("capstan_Rows", Kind::kGauge));
  EXPECT_FALSE(IsMetricName("capstan_rows__all", Kind::kGauge));
  EXPECT_FALSE(IsMetricName("capstan_wait_count", Kind::kHistogram));
  EXPECT_FALSE(IsMetricName("capstan_", Kind::kGauge));
}

TEST(IsMetricNameTest, IsOneWordInLowerCase) {
  for (const char* name :
       {"capstan_", "capstan__x", "capstan_x_", "capstan_x__y", "capstan_X", "Capstan_x", "x",
        "capstan_x-y", "capstan_x y", "capstan_x\n", "capstan_\xC3\xBC", "capstanx", ""}) {
    EXPECT_FALSE(IsMetricName(name, Kind::kGauge)) << name;
  }
  for (const char* name : {"capstan_x", "capstan_9", "capstan_x_2_y"}) {
    EXPECT_TRUE(IsMetricName(name, Kind::kGauge)) << name;
  }
}

TEST(IsMetricNameTest, NoMetricIsCalledAsASeriesOfAHistogram) {
  for (const Kind kind : {Kind::kGauge, Kind::kHistogram, Kind::kCounter}) {
    for (const char* name : {"capstan_x_bucket", "capstan_x_count", "capstan_x_sum"}) {
      EXPECT_FALSE(IsMetricName(name, kind)) << name;
    }
  }
  EXPECT_TRUE(IsMetricName("capstan_x_counted", Kind::kGauge));
  EXPECT_FALSE(IsMetricName("capstan_x_total", Kind::kHistogram));
}

TEST(IsLabelNameTest, IsAWordButNotTheOneOfHistograms) {
  for (const char* name : {"shard", "a", "task_2", "le_x"}) EXPECT_TRUE(IsLabelName(name)) << name;
  for (const char* name : {"le", "", "_a", "a_", "a__b", "Shard", "2a", "a-b", "__name"}) {
    EXPECT_FALSE(IsLabelName(name)) << name;
  }
}

}  // namespace
}  // namespace capstan::metrics
