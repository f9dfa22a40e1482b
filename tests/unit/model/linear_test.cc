#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/lone_tower.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LinearTest, NumbersAndKeysAreWeighedForEachOutputAndAdded) {
  LoneTower linear(TowerOf("linear"), {.has_keys = true, .dense_width = 2, .outputs = 2});
  EXPECT_TRUE(linear.description().reads_linear);
  EXPECT_THAT(linear.TensorNames(), ElementsAre("weights"));
  const TowerBatch batch = {.parameters = {1, 2, 3, 4},
                            .dense = {10, 100},
                            .offsets = {0, 3},
                            .index = {1, 1, 0},
                            .values = {1, 0.5f, 2},
                            .linear = {1, -1, 5, 7}};
  // 10 * (1, 2) + 100 * (3, 4) + 1.5 * (5, 7) + 2 * (1, -1), and what was there before.
  EXPECT_THAT(linear.Forward(batch, 1, /*before=*/1000), ElementsAre(1319.5f, 1428.5f));
  const LoneTower::Gradients gradients = linear.Backward(batch, {1, 10});
  EXPECT_THAT(gradients.parameters, ElementsAre(10, 100, 100, 1000));
  EXPECT_THAT(gradients.linear, ElementsAre(3, 21, 2.5f, 16)) << "added to what others have";
}

TEST(LinearTest, WithoutValuesEachKeyCountsOnceAndARecordWithoutKeysForNothing) {
  LoneTower linear(TowerOf("linear"), {.has_keys = true});
  EXPECT_THAT(linear.TensorNames(), IsEmpty()) << "the data have no numbers";
  const TowerBatch batch = {.offsets = {0, 2, 2, 3}, .index = {0, 1, 1}, .linear = {3, 5}};
  EXPECT_THAT(linear.Forward(batch, 3), ElementsAre(8, 0, 5));
  EXPECT_THAT(linear.Backward(batch, {1, 100, 10}).linear, ElementsAre(2, 12));
}

TEST(LinearTest, WithoutKeysOnlyTheNumbersCount) {
  LoneTower linear(TowerOf("linear"), {.has_keys = false, .dense_width = 1});
  EXPECT_FALSE(linear.description().reads_linear);
  const TowerBatch batch = {.parameters = {2}, .dense = {3, -4}};
  EXPECT_THAT(linear.Forward(batch, 2), ElementsAre(6, -8));
  EXPECT_THAT(linear.Backward(batch, {1, 1}).parameters, ElementsAre(-1));
}

}  // namespace
}  // namespace capstan
