#include "capstan/base/metric_name.h"

#include <string>

#include "gtest/gtest.h"

namespace capstan {
namespace {

TEST(MetricNameTest, ThatOfAFurtherSetIsTheMetricOfTheSet) {
  for (const MetricName& name : {MetricName{"", "auc"}, MetricName{"recent", "rmse"}}) {
    const std::string text = NameMetric(name);
    EXPECT_EQ(ParseMetricName(text).set, name.set);
    EXPECT_EQ(ParseMetricName(text).metric, name.metric);
  }
  EXPECT_EQ(NameMetric({"recent", "auc"}), "recent/auc");
}

}  // namespace
}  // namespace capstan
