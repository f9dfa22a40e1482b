// What is left out while training, and what is not.
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model_fixture.h"

namespace capstan {
namespace {

v1::JobSpec Dropping(float dropout, const std::string& preset, v1::Activation activation) {
  v1::JobSpec spec = SpecOf(preset, 4, 3);
  spec.mutable_model()->set_dropout(dropout);
  spec.mutable_model()->set_activation(activation);
  EXPECT_EQ(LayOutModel(spec), absl::OkStatus());
  return spec;
}

std::vector<float> ParametersOf(Network& network, const NetworkInput& input) {
  return Copy(network.ForwardBackward(input).parameters);
}

TEST(DropoutTest, GradientsAreThoseOfWhatIsLeft) {
  for (const auto activation : {v1::ACTIVATION_UNSPECIFIED, v1::ACTIVATION_TANH}) {
    for (const char* preset : {"deepfm", "dlrm"}) {
      const v1::JobSpec spec = Dropping(0.4f, preset, activation);
      const auto network = NetworkOf(spec);
      RandomBatch batch(spec, 6, 11);
      EXPECT_LE(CountWrongGradients(*network, batch, /*draw=*/5, 2e-3), 2)
          << preset << " " << activation;
    }
  }
}

TEST(DropoutTest, NothingIsLeftOutOfAnEvaluation) {
  const v1::JobSpec spec = Dropping(0.5f, "deepfm", v1::ACTIVATION_UNSPECIFIED);
  const v1::JobSpec whole = Dropping(0, "deepfm", v1::ACTIVATION_UNSPECIFIED);
  const RandomBatch batch(spec, 9, 3);
  const auto dropping = NetworkOf(spec);
  const auto all = NetworkOf(whole);
  const std::vector<float> wanted = Copy(all->Forward(batch.Input()));
  EXPECT_EQ(Copy(dropping->Forward(batch.Input())), wanted);
  EXPECT_NE(Copy(dropping->ForwardBackward(batch.Input()).logits), wanted);
  EXPECT_EQ(Copy(dropping->Forward(batch.Input())), wanted) << "also after a step";
}

TEST(DropoutTest, ABatchHasItsOwnDrawsWhoeverComputesIt) {
  const v1::JobSpec spec = Dropping(0.5f, "deepfm", v1::ACTIVATION_GELU);
  const RandomBatch batch(spec, 33, 3);
  NetworkInput first = batch.Input(), second = batch.Input();
  first.draw = 1;
  second.draw = 2;
  const auto one = NetworkOf(spec);
  const std::vector<float> wanted = ParametersOf(*one, first);
  EXPECT_NE(ParametersOf(*one, second), wanted);
  EXPECT_EQ(ParametersOf(*one, first), wanted);
  EXPECT_EQ(ParametersOf(*NetworkOf(spec), first), wanted);
  for (const uint32_t threads : {2u, 3u}) {
    const std::vector<float> found = ParametersOf(*NetworkOf(spec, threads), first);
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], wanted[i], 1e-5 * (1 + std::abs(wanted[i]))) << threads << " " << i;
    }
  }
}

TEST(DropoutTest, WhatIsLeftIsLargerSoThatTheSumStays) {
  v1::JobSpec spec = SpecOf("", 0, 8);
  spec.mutable_model()->clear_preset();
  v1::TowerSpec& tower = *spec.mutable_model()->add_towers();
  tower.set_kind("mlp");
  tower.add_hidden(200);
  tower.set_dropout(0.25f);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  const auto network = NetworkOf(spec);
  RandomBatch batch(spec, 1, 3);
  for (float& parameter : batch.parameters) parameter = std::abs(parameter);
  for (float& number : batch.dense) number = std::abs(number);
  const double whole = network->Forward(batch.Input())[0];
  double mean = 0;
  constexpr int kDraws = 400;
  for (int i = 0; i < kDraws; ++i) {
    NetworkInput input = batch.Input();
    input.draw = static_cast<uint64_t>(i);
    mean += network->ForwardBackward(input).logits[0] / kDraws;
  }
  EXPECT_NEAR(mean, whole, 0.01 * whole);
}

}  // namespace
}  // namespace capstan
