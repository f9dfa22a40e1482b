#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "capstan/optim/optimizer.h"
#include "capstan/optim/optimizer_description.h"
#include "tests/unit/optim/specs.h"

namespace capstan {
namespace {

std::string WhyNotMade(const v1::OptimizerSpec& spec) {
  const absl::Status status = MakeOptimizer(spec).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(NewOptimizerTest, EveryKindThatIsDescribedIsMadeOfItsPlainSettings) {
  for (const OptimizerDescription& any : OptimizerDescriptions()) {
    EXPECT_TRUE(MakeOptimizer(PlainSpec(any.kind)).ok()) << any.name;
  }
}

TEST(NewOptimizerTest, AKindOfAnotherProgramIsRefusedByItsNumber) {
  v1::OptimizerSpec spec;
  spec.set_kind(static_cast<v1::OptimizerKind>(kFirstKindOfOnesOwn + 77));
  EXPECT_EQ(WhyNotMade(spec), "optimizer: kind 1077 is unknown");
  spec.set_kind(static_cast<v1::OptimizerKind>(-1));
  EXPECT_EQ(WhyNotMade(spec), "optimizer: kind -1 is unknown");
}

TEST(NewOptimizerTest, WhatEveryKindHasIsAFiniteNumberOfAtLeastNothing) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  for (const OptimizerDescription& any : OptimizerDescriptions()) {
    for (const float bad : {-0.001f, kInfinite, -kInfinite, std::nanf("")}) {
      v1::OptimizerSpec spec = PlainSpec(any.kind);
      spec.set_learning_rate(bad);
      EXPECT_EQ(WhyNotMade(spec).find("optimizer: learning_rate is "), 0u) << any.name;
      spec = PlainSpec(any.kind);
      spec.set_epsilon(bad);
      EXPECT_EQ(WhyNotMade(spec).find("optimizer: epsilon is "), 0u) << any.name;
      spec = PlainSpec(any.kind);
      spec.set_initial_accumulator(bad);
      EXPECT_EQ(WhyNotMade(spec).find("optimizer: initial_accumulator is "), 0u) << any.name;
      spec = PlainSpec(any.kind);
      spec.set_weight_decay(bad);
      EXPECT_EQ(WhyNotMade(spec).find("optimizer: weight_decay is "), 0u) << any.name;
      spec = PlainSpec(any.kind);
      spec.set_clip_value(bad);
      EXPECT_EQ(WhyNotMade(spec).find("optimizer: clip_value is "), 0u) << any.name;
    }
  }
}

}  // namespace
}  // namespace capstan
