#include "capstan/data/formats/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace capstan {
namespace {

TEST(ParseWeightTest, ANumberFromZeroOnIsAWeight) {
  for (const auto& [cell, expected] : {std::pair("0", 0.0F), std::pair("-0", 0.0F),
                                       std::pair(" 2.5 ", 2.5F), std::pair("1e38", 1e38F)}) {
    float weight = -1;
    std::string error;
    EXPECT_TRUE(ParseWeight(cell, weight, error)) << cell;
    EXPECT_EQ(weight, expected);
    EXPECT_EQ(error, "");
  }
}

TEST(ParseWeightTest, AnythingElseIsToldAsItStandsInTheFile) {
  for (const char* cell : {"", "-1", "-1e-40", "nan", "inf", "1e39", "two", "1,5"}) {
    float weight = 1;
    std::string error;
    EXPECT_FALSE(ParseWeight(cell, weight, error)) << cell;
    EXPECT_EQ(error, "weight \"" + std::string(cell) + "\" is not a number from 0 on");
  }
}

TEST(AdmitWeightTest, OnlyFiniteWeightsFromZeroOnPass) {
  std::string error;
  EXPECT_TRUE(AdmitWeight(0, "shown", error));
  EXPECT_TRUE(AdmitWeight(std::numeric_limits<float>::max(), "shown", error));
  for (const float weight : {-1.0F, std::nanf(""), std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::denorm_min()}) {
    EXPECT_FALSE(AdmitWeight(weight, "shown", error)) << weight;
  }
  EXPECT_EQ(error, "weight \"shown\" is not a number from 0 on");
}

}  // namespace
}  // namespace capstan
