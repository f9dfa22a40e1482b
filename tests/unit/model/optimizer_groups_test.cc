#include "capstan/model/optimizer_groups.h"

#include <string>

#include "capstan/model/layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model_fixture.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

v1::OptimizerGroup& AddGroup(v1::JobSpec& spec, const std::string& match, float rate) {
  v1::OptimizerGroup& group = *spec.add_dense_groups();
  group.add_match(match);
  group.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  group.mutable_optimizer()->set_learning_rate(rate);
  return group;
}

TEST(MatchesNameTest, AStarStandsForAnyText) {
  EXPECT_TRUE(MatchesName("fc.bias", "fc.bias"));
  EXPECT_FALSE(MatchesName("fc.bias", "fc.bias2"));
  EXPECT_TRUE(MatchesName("*.bias", "layer1.0.bias"));
  EXPECT_FALSE(MatchesName("*.bias", "bias"));
  EXPECT_TRUE(MatchesName("*bn*", "layer1.bn2.weight"));
  EXPECT_TRUE(MatchesName("*", ""));
  EXPECT_TRUE(MatchesName("a*b*c", "a.b.bc"));
  EXPECT_FALSE(MatchesName("a*b*c", "a.c"));
  EXPECT_FALSE(MatchesName("ab*bc", "abc")) << "no letter stands for two";
}

TEST(OptimizerGroupsTest, TheFirstGroupThatNamesATensorHasIt) {
  v1::JobSpec spec = SpecOf("deepfm", 4, 0);
  spec.mutable_dense_optimizer()->set_learning_rate(0.25F);
  AddGroup(spec, "mlp/bias_1", 0.5F);
  AddGroup(spec, "*/bias_*", 0.75F).add_match("*/weights_2");
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  std::vector<float> rates;
  for (const v1::TensorSpec& tensor : spec.tensors()) {
    rates.push_back(tensor.optimizer().learning_rate());
  }
  // mlp/weights_0, bias_0, weights_1, bias_1, weights_2, bias_2, bias/bias
  EXPECT_THAT(rates, testing::ElementsAre(0.25F, 0.75F, 0.25F, 0.5F, 0.75F, 0.75F, 0.25F));
}

TEST(OptimizerGroupsTest, WhatIsNotTrainedIsInNoGroup) {
  v1::JobSpec spec = SpecOf("deepfm", 4, 0);
  spec.mutable_model()->set_batch_norm(true);
  AddGroup(spec, "*", 0.5F);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  size_t running = 0;
  for (const v1::TensorSpec& tensor : spec.tensors()) {
    const bool runs = tensor.role() == v1::TENSOR_ROLE_RUNNING;
    running += runs;
    EXPECT_EQ(tensor.optimizer().kind(), runs ? v1::OPTIMIZER_KIND_RUNNING : v1::OPTIMIZER_KIND_SGD)
        << tensor.name();
  }
  EXPECT_GT(running, 0u);
}

TEST(OptimizerGroupsTest, AGroupWithoutTensorsIsRefusedWithTheNamesThatThereAre) {
  v1::JobSpec spec = SpecOf("deepfm", 4, 0);
  AddGroup(spec, "*.bias", 0.5F);
  absl::Status status = LayOutModel(spec);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("optimizer.dense.groups[0]: no tensor that is trained is named *.bias; "
                        "there are mlp/weights_0, mlp/bias_0, "));
  spec.clear_dense_groups();
  AddGroup(spec, "*bias*", 0.5F);
  AddGroup(spec, "mlp/bias_0", 0.75F);
  status = LayOutModel(spec);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("optimizer.dense.groups[1]: each tensor that it matches, such as "
                        "mlp/bias_0, is of a group before it"));
}

}  // namespace
}  // namespace capstan
