#include "cli/model/scoring.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace capstan::cli {
namespace {

std::string Text(v1::Loss loss, const std::vector<float>& logits) {
  v1::JobSpec job;
  job.mutable_model()->set_loss(loss);
  return ScoreText(job, logits);
}

TEST(ScoreTextTest, IsTheShortestThatReadsBackAsTheSameFloat) {
  for (const char* text : {"0", "1", "0.5", "-2.25", "0.1", "0.33333334", "1.5e-07", "-1e-30",
                           "100000", "123456.79", "2e+20", "0.00012", "9.5e-05"}) {
    EXPECT_EQ(Text(v1::LOSS_SQUARED, {std::stof(text)}), text);
  }
}

TEST(ScoreTextTest, ProbabilitiesThatAreSmallDiffer) {
  EXPECT_EQ(Text(v1::LOSS_LOGISTIC, {0}), "0.5");
  EXPECT_EQ(Text(v1::LOSS_LOGISTIC, {-20}), "2.0611537e-09");
  EXPECT_EQ(Text(v1::LOSS_SOFTMAX, {0, 0}), "0.5,0.5");
}

}  // namespace
}  // namespace capstan::cli
