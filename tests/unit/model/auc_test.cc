#include "capstan/model/auc.h"

#include <limits>

#include "gtest/gtest.h"

namespace capstan {
namespace {

TEST(LogitBinTest, GrowsWithTheLogitAndIsSymmetrical) {
  int previous = -1;
  for (float logit : {-1e30f, -300.0f, -17.0f, -1.0f, -0.01f, 0.0f, 0.01f, 1.0f, 17.0f, 300.0f}) {
    const int bin = LogitBin(logit);
    EXPECT_GE(bin, previous);
    EXPECT_EQ(LogitBin(-logit), kLogitBins - 1 - bin);
    previous = bin;
  }
  EXPECT_EQ(LogitBin(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_EQ(LogitBin(std::numeric_limits<float>::infinity()), kLogitBins - 1);
  EXPECT_EQ(LogitBin(std::numeric_limits<float>::quiet_NaN()), 0);
}

TEST(LogitBinTest, IsOne256thWideBelowOneAndTwiceThatBelowThree) {
  EXPECT_EQ(LogitBin(0.5f + 1.0f / 256) - LogitBin(0.5f), 1);
  EXPECT_EQ(LogitBin(0.5f + 0.9f / 256), LogitBin(0.5f));
  EXPECT_EQ(LogitBin(1.5f + 1.0f / 128) - LogitBin(1.5f), 1);
  EXPECT_EQ(LogitBin(1.5f + 0.9f / 128), LogitBin(1.5f));
}

}  // namespace
}  // namespace capstan
