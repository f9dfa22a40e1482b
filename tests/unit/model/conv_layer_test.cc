#include "capstan/model/towers/conv_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace capstan {
namespace {

using testing::ElementsAre;

constexpr int kCentreOfNine = 4;

// A kernel that takes the pixel itself, and its neighbour on the left `left` times.
std::vector<float> KernelOf(float left, float bias) {
  std::vector<float> parameters(10, 0.0F);
  parameters[kCentreOfNine] = 1;
  parameters[kCentreOfNine - 1] = left;
  parameters[9] = bias;
  return parameters;
}

std::vector<float> Pooled(const ConvShape& shape, const std::vector<float>& image,
                          const std::vector<float>& parameters) {
  ConvLayer layer(shape);
  Gemm gemm;
  std::vector<float> pooled(static_cast<size_t>(layer.output_size()), -1.0F);
  layer.Forward(MatrixAt(image.data(), 1, static_cast<Eigen::Index>(image.size())), parameters,
                gemm, MatrixAt(pooled.data(), 1, static_cast<Eigen::Index>(pooled.size())));
  return pooled;
}

TEST(ConvLayerTest, OfFourPixelsTheLargestIsTakenAndAnOddSideIsLeftOut) {
  const std::vector<float> image = {1, 5,  9,    //
                                    3, -2, 100,  //
                                    7, 8,  9};
  EXPECT_THAT(Pooled({3, 3, 1, 1}, image, KernelOf(0, 0)), ElementsAre(5));
  EXPECT_THAT(Pooled({3, 3, 1, 1}, image, KernelOf(0, -6)), ElementsAre(0)) << "none is above 0";
  // The pixels with twice what is on their left: 1 and 7, 3 and 4; nothing is left of the image.
  EXPECT_THAT(Pooled({3, 3, 1, 1}, image, KernelOf(2, 0)), ElementsAre(7));
}

TEST(ConvLayerTest, EachChannelHasKernelAndMaximumOfItsOwn) {
  ConvLayer layer({2, 2, 2, 1});
  EXPECT_EQ(layer.parameter_count(), 19u);
  EXPECT_EQ(layer.output_size(), 1);
  std::vector<float> parameters(19, 0.0F);
  parameters[2 * kCentreOfNine + 1] = 3;  // Of the second channel.
  EXPECT_THAT(Pooled({2, 2, 2, 1}, {9, 1, 9, 2, 9, 4, 9, 3}, parameters), ElementsAre(12));
}

TEST(ConvLayerTest, TheGradientGoesBackToThePixelThatWasTheLargest) {
  const std::vector<float> image = {1, 2,  //
                                    3, 4};
  const std::vector<float> parameters = KernelOf(0, 0);
  ConvLayer layer({2, 2, 1, 1});
  Gemm gemm;
  std::vector<float> pooled(1);
  const ConstMatrix input = MatrixAt(image.data(), 1, 4);
  layer.Forward(input, parameters, gemm, MatrixAt(pooled.data(), 1, 1));
  ASSERT_THAT(pooled, ElementsAre(4));
  const std::vector<float> gradient = {2};
  std::vector<float> of_parameters(10, 77.0F);
  std::vector<float> of_input = {10, 10, 10, 10};
  layer.Backward({.input = input,
                  .pooled = MatrixAt(static_cast<const float*>(pooled.data()), 1, 1),
                  .pooled_gradient = MatrixAt(gradient.data(), 1, 1),
                  .parameters = parameters,
                  .parameter_gradients = of_parameters,
                  .input_gradient = MatrixAt(of_input.data(), 1, 4),
                  .gemm = gemm});
  // Twice the neighbours of the last pixel, and the bias.
  EXPECT_THAT(of_parameters, ElementsAre(2, 4, 0, 6, 8, 0, 0, 0, 0, 2));
  EXPECT_THAT(of_input, ElementsAre(10, 10, 10, 12)) << "which is added to what is there";
}

}  // namespace
}  // namespace capstan
