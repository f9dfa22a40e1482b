#include "capstan/base/metric_name.h"

#include <string>

#include "gtest/gtest.h"

namespace capstan {
namespace {

TEST(MetricNameTest, ThatOfAFurtherScopeIsTheMetricBehindIt) {
  for (const MetricName& name :
       {MetricName{"", "auc"}, MetricName{"recent", "rmse"}, MetricName{"recent/buy", "auc"}}) {
    const std::string text = NameMetric(name);
    EXPECT_EQ(ParseMetricName(text).scope, name.scope);
    EXPECT_EQ(ParseMetricName(text).metric, name.metric);
  }
  EXPECT_EQ(NameMetric({"recent", "auc"}), "recent/auc");
}

TEST(MetricNameTest, AScopeIsASetALabelOrBoth) {
  EXPECT_EQ(JoinScopes("", ""), "");
  EXPECT_EQ(JoinScopes("recent", ""), "recent");
  EXPECT_EQ(JoinScopes("", "buy"), "buy");
  EXPECT_EQ(JoinScopes("recent", "buy"), "recent/buy");
}

}  // namespace
}  // namespace capstan
