#include "chief/work/evaluation_log.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "capstan/base/metric_name.h"
#include "capstan/model/metrics.h"
#include "chief/shell/log_event.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan::chief {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

// Everything that can be measured of records with a logistic loss and groups.
void AddMetrics(std::string_view set, v1::Evaluation& evaluation) {
  const std::vector<float> logits = {1, 2, 3, 4}, labels = {0, 1, 0, 1};
  const std::vector<uint64_t> groups = {7, 7, 8, 8};
  v1::EvaluationResult sums;
  AddToEvaluation({v1::LOSS_LOGISTIC, 1, logits, labels, {}, groups}, sums);
  for (const auto& [metric, value] : MetricsOf(v1::LOSS_LOGISTIC, sums)) {
    (*evaluation.mutable_metrics())[NameMetric({set, metric})] = value;
  }
}

// Had one line all of them, the chief would die of it.
TEST(EvaluationLogTest, EachSetHasALineWithRoomForAllThatIsMeasured) {
  v1::Evaluation evaluation;
  for (const char* set : {"", "late", "new"}) AddMetrics(set, evaluation);
  const std::vector<LogFields> lines = EvaluationLogFields(evaluation);
  ASSERT_THAT(lines, SizeIs(3));
  for (const LogFields& line : lines) EXPECT_LE(line.size(), kMaxLogFields);
  EXPECT_THAT(lines[0], testing::Contains(Pair("group_auc", "1")));
  EXPECT_THAT(lines[1], testing::Contains(Pair("scope", "late")));
  EXPECT_THAT(lines[2], testing::Contains(Pair("auc", "0.75")));
}

TEST(EvaluationLogTest, AnEvaluationWithoutMetricsIsALine) {
  EXPECT_THAT(
      EvaluationLogFields({}),
      ElementsAre(ElementsAre(Pair("number", "0"), Pair("examples", "0"), Pair("live", "yes"))));
}

}  // namespace
}  // namespace capstan::chief
