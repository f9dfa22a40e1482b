#include "chief/shell/learning_curve.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan::chief {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::SizeIs;

AppendCurve Evaluated() {
  AppendCurve point{.elapsed_seconds = 2, .examples = 100, .step = 10, .loss = 0.5};
  point.evaluation.set_number(3);
  (*point.evaluation.mutable_metrics())["auc"] = 0.75;
  (*point.evaluation.mutable_metrics())["group_auc"] = 0.625;
  (*point.evaluation.mutable_metrics())["recent/auc"] = 0.5;
  (*point.evaluation.mutable_metrics())["recent/mae"] = 0.25;
  return point;
}

std::vector<std::string> Cells(const std::string& line) { return absl::StrSplit(line, ','); }

TEST(LearningCurveTest, FurtherScopesHaveLinesOfTheirOwnAboveThatOfTheFirst) {
  const std::vector<std::string> lines = absl::StrSplit(CurveLines(Evaluated()), '\n');
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(Cells(lines[0]), ElementsAre("2.000", "100", "10", "0.5", "0.0", "3", "", "0.5", "",
                                           "", "", "", "", "recent", "0.25"));
  EXPECT_THAT(Cells(lines[1]), ElementsAre("2.000", "100", "10", "0.5", "0.0", "3", "", "0.75", "",
                                           "", "", "", "0.625", "", ""));
  EXPECT_EQ(lines[2], "");
  const std::string header = CurveHeader();
  EXPECT_THAT(header, EndsWith(",eval_group_auc,eval_set,eval_mae\n"));
  EXPECT_THAT(Cells(header), SizeIs(Cells(lines[0]).size()));
}

TEST(LearningCurveTest, APointWithoutAnEvaluationIsOneLine) {
  EXPECT_EQ(CurveLines({.examples = 7, .step = 1, .loss = 0.25}), "0.000,7,1,0.25,0.0,,,,,,,,,,\n");
}

TEST(LearningCurveTest, ALossThatIsNotKnownIsAnEmptyCellAndOneOf0Is0) {
  EXPECT_EQ(CurveLines({.examples = 7, .step = 1}), "0.000,7,1,,0.0,,,,,,,,,,\n");
  EXPECT_EQ(CurveLines({.examples = 7, .step = 1, .loss = 0}), "0.000,7,1,0,0.0,,,,,,,,,,\n");
}

TEST(LearningCurveTest, ACurveOfAnotherVersionGoesOnUnderTheNamesOfThisOne) {
  EXPECT_EQ(UnderCurveHeader(""), CurveHeader());
  EXPECT_EQ(UnderCurveHeader("a,b\n1,2\n3,4\n"), CurveHeader() + "1,2\n3,4\n");
  const std::string present = CurveHeader() + CurveLines(Evaluated());
  EXPECT_EQ(UnderCurveHeader(present), present);
}

}  // namespace
}  // namespace capstan::chief
