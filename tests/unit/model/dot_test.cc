#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/lone_tower.h"

namespace capstan {
namespace {

using testing::ElementsAre;

TEST(DotTest, EachPairOfFieldsIsOneProductBelowTheTop) {
  LoneTower dot(TowerOf("dot"), {.fields = 3, .embedding_dim = 2});
  EXPECT_TRUE(dot.description().reads_features);
  EXPECT_THAT(dot.TensorNames(), ElementsAre("top_weights_0", "top_bias_0"));
  // Fields (1, 2), (3, -1), (.5, 4); second by first 1, third by first 8.5, third by second -2.5.
  const TowerBatch batch = {.parameters = {1, 10, 100, 5}, .features = {1, 2, 3, -1, 0.5f, 4}};
  EXPECT_THAT(dot.Forward(batch, 1, /*before=*/1000), ElementsAre(1000 - 159));
  const LoneTower::Gradients gradients = dot.Backward(batch, {2});
  EXPECT_THAT(gradients.parameters, ElementsAre(2, 17, -5, 2));
  // First: 2 * (1 * second + 10 * third), and so on.
  EXPECT_THAT(gradients.features, ElementsAre(1 + 2 * (3 + 5), 1 + 2 * (-1 + 40),   //
                                              1 + 2 * (1 + 50), 1 + 2 * (2 + 400),  //
                                              1 + 2 * (10 + 300), 1 + 2 * (20 - 100)));
}

TEST(DotTest, TheBottomIsOneMoreVectorAndStandsBesideTheProducts) {
  LoneTower dot(TowerOf("dot"), {.fields = 1, .embedding_dim = 2, .dense_width = 1});
  EXPECT_THAT(dot.TensorNames(),
              ElementsAre("bottom_weights_0", "bottom_bias_0", "top_weights_0", "top_bias_0"));
  // The bottom makes (6, 9) of 2; with the field (1, 2) that is 24.
  const TowerBatch batch = {
      .parameters = {3, 4, 0, 1, 1, 10, 100, 0}, .features = {1, 2, 2}, .dense = {2}};
  EXPECT_THAT(dot.Forward(batch, 1), ElementsAre(6 + 90 + 2400));
  const LoneTower::Gradients gradients = dot.Backward(batch, {1});
  // The gradient of the bottom is (1, 10) + 100 * (1, 2).
  EXPECT_THAT(gradients.parameters, ElementsAre(202, 420, 101, 210, 6, 9, 24, 1));
  EXPECT_THAT(gradients.features, ElementsAre(1 + 600, 1 + 900));
}

}  // namespace
}  // namespace capstan
