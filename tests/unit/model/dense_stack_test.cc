#include "capstan/model/dense_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace capstan {
namespace {

using testing::ElementsAre;

// Two inputs, a layer of two and one output: its weights, row by row of the inputs, and its bias,
// then those of the output.
std::vector<float> ParametersByHand() { return {1, -1, 2, 3, 0.5F, -10, 2, 7, 1}; }

TEST(DenseStackTest, ALayerIsItsInputTimesItsWeightsAndBiasWithNothingBelowZero) {
  DenseStack stack({2, 2, 1});
  EXPECT_EQ(stack.parameter_count(), 9);
  EXPECT_EQ(stack.input_width(), 2);
  const std::vector<float> parameters = ParametersByHand();
  const std::vector<float> input = {1, 2, -1, 8};
  Gemm gemm;
  const ConstMatrix output = stack.Forward(
      {.input = MatrixAt(input.data(), 2, 2), .parameters = parameters, .gemm = gemm});
  ASSERT_EQ(output.rows(), 2);
  ASSERT_EQ(output.cols(), 1);
  EXPECT_EQ(output(0, 0), 12);   // 2 * 5.5 + 7 * 0 + 1.
  EXPECT_EQ(output(1, 0), 137);  // 2 * 15.5 + 7 * 15 + 1.
}

TEST(DenseStackTest, GradientsOfParametersAreWrittenAndThoseOfTheInputAdded) {
  DenseStack stack({2, 2, 1});
  const std::vector<float> parameters = ParametersByHand();
  const std::vector<float> input = {1, 2};
  Gemm gemm;
  const DenseStack::Call call = {.input = MatrixAt(input.data(), 1, 2),
                                 .parameters = parameters,
                                 .gemm = gemm,
                                 .training = TrainingBatch()};
  stack.Forward(call);
  const std::vector<float> of_output = {1};
  std::vector<float> gradients(9, 77.0F);
  std::vector<float> of_input = {10, 20};
  stack.Backward(call, MatrixAt(of_output.data(), 1, 1), gradients,
                 MatrixAt(of_input.data(), 1, 2));
  // The second unit is below 0, so nothing goes through it.
  EXPECT_THAT(gradients, ElementsAre(2, 0, 4, 0, 2, 0, 5.5F, 0, 1));
  EXPECT_THAT(of_input, ElementsAre(10 + 2 * 1, 20 + 2 * 2));
}

TEST(DenseStackTest, BatchNormHasItsTensorsBehindTheBiasOfEachLayerButTheLast) {
  const DenseStack stack({3, 2, 1}, {.batch_norm = true});
  std::vector<std::string> names;
  for (const TowerTensor& tensor : stack.Tensors("top_")) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("top_weights_0", "top_bias_0", "top_scale_0", "top_mean_0",
                                 "top_variance_0", "top_weights_1", "top_bias_1"));
  EXPECT_EQ(stack.parameter_count(), 3 * 2 + 4 * 2 + 2 * 1 + 1);
  EXPECT_THAT(stack.Tensors("")[0].shape, ElementsAre(3, 2));
  EXPECT_EQ(stack.Tensors("")[3].role, v1::TENSOR_ROLE_RUNNING);
}

TEST(DenseStackTest, WhatIsDroppedDependsOnTheExampleAndNotOnTheSliceThatItIsIn) {
  DenseStack stack({1, 16, 1}, {.dropout = 0.5F});
  std::vector<float> parameters(static_cast<size_t>(stack.parameter_count()), 0.0F);
  for (size_t i = 0; i < 16; ++i) parameters[i] = parameters[32 + i] = 1;
  const std::vector<float> input = {1, 1};
  Gemm gemm;
  const auto output_of = [&](Eigen::Index examples, uint64_t first, uint64_t seed) {
    const ConstMatrix output =
        stack.Forward({.input = MatrixAt(input.data(), examples, 1),
                       .parameters = parameters,
                       .gemm = gemm,
                       .training = TrainingBatch{.seed = seed, .first_example = first}});
    return std::vector<float>(output.data(), output.data() + output.size());
  };
  int differ = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<float> both = output_of(2, 0, seed);
    EXPECT_EQ(output_of(1, 1, seed)[0], both[1]) << seed;
    EXPECT_LE(both[0], 32) << "each of 16 units counts twice, or is dropped";
    if (both[0] != both[1]) ++differ;
  }
  EXPECT_GT(differ, 4);
}

}  // namespace
}  // namespace capstan
