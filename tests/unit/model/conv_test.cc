#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/model/lone_tower.h"

namespace capstan {
namespace {

using testing::ElementsAre;

// A kernel of one channel that takes each pixel `times` times, and its bias.
std::vector<float> TimesItself(float times) {
  std::vector<float> kernel(10, 0);
  kernel[4] = times;
  return kernel;
}

std::vector<float> InARow(std::vector<float> first, const std::vector<float>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

TEST(ConvTest, LayersHalveTheImageOneAfterTheOtherAndTheHeadWeighsTheRest) {
  LoneTower conv(TowerOf("conv", {1, 1}),
                 {.has_keys = false, .dense_width = 16, .image_height = 4, .image_width = 4});
  EXPECT_THAT(conv.TensorNames(), ElementsAre("kernel_0", "kernel_bias_0", "kernel_1",
                                              "kernel_bias_1", "head_weights_0", "head_bias_0"));
  const TowerBatch batch = {.parameters = InARow(InARow(TimesItself(2), TimesItself(3)), {10, 1}),
                            .dense = {1, 2, 0, 0,  //
                                      3, 4, 0, 7,  //
                                      0, 0, 0, 0,  //
                                      5, 0, 6, 0}};
  // Maxima 4, 7, 5, 6, twice; the maximum of these, 14, three times; 10 * 42 + 1.
  EXPECT_THAT(conv.Forward(batch, 1, /*before=*/1000), ElementsAre(1421));
  const LoneTower::Gradients gradients = conv.Backward(batch, {1});
  EXPECT_EQ(gradients.parameters[20], 42) << "the weight of the head";
  EXPECT_EQ(gradients.parameters[21], 1);
  EXPECT_EQ(gradients.parameters[10 + 4], 10 * 14) << "the second kernel at the pixel itself";
  EXPECT_EQ(gradients.parameters[4], 10 * 3 * 7) << "the first one at the pixel that is left";
  EXPECT_EQ(gradients.parameters[9], 30) << "its bias";
}

TEST(ConvTest, TheHeadHasTheLayersOfTheModelAndSeesWhatTheLastLayerLeaves) {
  LoneTower conv(TowerOf("conv", {2}), {.has_keys = false,
                                        .dense_width = 18,
                                        .image_height = 3,
                                        .image_width = 3,
                                        .outputs = 3,
                                        .hidden = {5}});
  const auto& tensors = conv.description().tensors;
  ASSERT_EQ(tensors.size(), 6u);
  EXPECT_THAT(tensors[0].shape, ElementsAre(18, 2)) << "two channels in, two out";
  EXPECT_THAT(tensors[2].shape, ElementsAre(2, 5)) << "of an odd side the last pixel is left out";
  EXPECT_THAT(tensors[4].shape, ElementsAre(5, 3));
}

}  // namespace
}  // namespace capstan
