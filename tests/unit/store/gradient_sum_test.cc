#include "capstan/store/gradient_sum.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

std::vector<float> SumOf(KeyGroups& groups, size_t group, size_t dim, float lambda = 0) {
  const std::vector<float> weights(dim, 10);
  const auto* sum = static_cast<const float*>(
      groups.Sum(group, weights.data(), dim, {.compensate_lambda = lambda}));
  return std::vector<float>(sum, sum + dim);
}

TEST(KeyGroupsTest, GroupsKeysInTheOrderOfTheirFirstOccurrence) {
  const std::vector<uint64_t> a = {5, 3, 5}, b = {3, 9};
  const std::vector<float> va = {1, 2, 4}, vb = {8, 16};
  const std::vector<RowGradients> gradients = {
      {.keys = a, .values = va, .pulled = {}, .weight = 1},
      {.keys = b, .values = vb, .pulled = {}, .weight = 0.5f}};
  KeyGroups groups;
  groups.Build(gradients);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups.key(0), 5u);
  EXPECT_EQ(groups.key(1), 3u);
  EXPECT_EQ(groups.key(2), 9u);
  EXPECT_EQ(groups.GradientsWith(0), 1u);
  EXPECT_EQ(groups.GradientsWith(1), 2u);
  EXPECT_THAT(SumOf(groups, 0, 1), testing::ElementsAre(5));
  EXPECT_THAT(SumOf(groups, 1, 1), testing::ElementsAre(6));
  EXPECT_THAT(SumOf(groups, 2, 1), testing::ElementsAre(8));
}

// Float addition is not associative: 1e8 - 1e8 + 1 differs from 1 - 1e8 + 1e8.
TEST(KeyGroupsTest, AddsInTheGivenOrder) {
  const std::vector<uint64_t> key = {1};
  const std::vector<float> big = {1e8f}, minus = {-1e8f}, one = {1};
  const auto sum = [&](const std::vector<const std::vector<float>*>& order) {
    std::vector<RowGradients> gradients;
    for (const auto* values : order) {
      gradients.push_back({.keys = key, .values = *values, .pulled = {}, .weight = 1});
    }
    KeyGroups groups;
    groups.Build(gradients);
    return SumOf(groups, 0, 1)[0];
  };
  EXPECT_EQ(sum({&big, &minus, &one}), 1);
  EXPECT_EQ(sum({&one, &big, &minus}), 0);
}

TEST(KeyGroupsTest, CompensatesEachGradientBeforeItsWeight) {
  const std::vector<uint64_t> key = {1};
  const std::vector<float> a = {1}, b = {2}, pulled_a = {9}, pulled_b = {8};
  const std::vector<RowGradients> gradients = {
      {.keys = key, .values = a, .pulled = pulled_a, .weight = 0.5f},
      {.keys = key, .values = b, .pulled = pulled_b, .weight = 0.25f}};
  KeyGroups groups;
  groups.Build(gradients);
  // (1 + 1 * 1 * (10 - 9)) / 2 + (2 + 4 * (10 - 8)) / 4.
  EXPECT_THAT(SumOf(groups, 0, 1, /*lambda=*/1), testing::ElementsAre(3.5f));
}

TEST(KeyGroupsTest, IsEmptyForEmptyGradients) {
  KeyGroups groups;
  groups.Build({});
  EXPECT_EQ(groups.size(), 0u);
  const RowGradients empty;
  groups.Build({&empty, 1});
  EXPECT_EQ(groups.size(), 0u);
}

}  // namespace
}  // namespace capstan
