#include "capstan/data/formats/alias_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "capstan/base/hash.h"

namespace capstan {
namespace {

constexpr int kAliasDraws = 1'000'000;

std::vector<double> SharesDrawn(const std::vector<double>& weights) {
  const AliasTable table(weights);
  std::vector<double> shares(weights.size());
  for (int i = 0; i < kAliasDraws; ++i) shares[table.Choose(Draw(1, 2, i))] += 1.0 / kAliasDraws;
  return shares;
}

TEST(AliasTableTest, ThingsAreChosenAsOftenAsTheirWeightsSay) {
  const std::vector<double> weights = {1, 7, 0.5, 20, 3, 3, 0.001};
  const std::vector<double> shares = SharesDrawn(weights);
  for (size_t i = 0; i < weights.size(); ++i) {
    const double expected = weights[i] / 34.501;
    const double deviation = std::sqrt(expected * (1 - expected) / kAliasDraws);
    EXPECT_NEAR(shares[i], expected, 4 * deviation) << "of weight " << weights[i];
  }
}

TEST(AliasTableTest, WhatWeighsNothingIsNeverChosen) {
  EXPECT_EQ(SharesDrawn({0, 2, 0, 0, 1})[0], 0);
  EXPECT_NEAR(SharesDrawn({0, 2, 0, 0, 1})[1], 2.0 / 3, 0.002);
}

TEST(AliasTableTest, TheOnlyThingIsAlwaysChosen) {
  const AliasTable table(std::vector<double>{0.25});
  EXPECT_EQ(table.Choose(0), 0u);
  EXPECT_EQ(table.Choose(~uint64_t{0}), 0u);
}

TEST(AliasTableTest, TheLargestAndTheSmallestBitsChooseSomethingThatIsThere) {
  const AliasTable table(std::vector<double>(1000, 1.0 / 3));
  EXPECT_EQ(table.Choose(0), 0u);
  EXPECT_EQ(table.Choose(~uint64_t{0}), 999u);
}

}  // namespace
}  // namespace capstan
