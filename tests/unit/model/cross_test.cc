#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/unit/model/lone_tower.h"

namespace capstan {
namespace {

using testing::ElementsAre;

v1::TowerSpec CrossOf(uint32_t layers) {
  v1::TowerSpec spec = TowerOf("cross");
  spec.set_layers(layers);
  return spec;
}

const ModelShape kTwoNumbers = {.has_keys = false, .dense_width = 2};
// W is ((1, 0), (2, 1)), b is (1, -1): of (1, 2) it makes (6, 1).
const std::vector<float> kFirstLayer = {1, 0, 2, 1, 1, -1};

TEST(CrossTest, ALayerMultipliesTheInputWithALinearMapOfItsOwnAndKeepsIt) {
  LoneTower cross(CrossOf(1), kTwoNumbers);
  EXPECT_TRUE(cross.description().reads_features);
  EXPECT_THAT(cross.TensorNames(), ElementsAre("weights_0", "bias_0", "head"));
  TowerBatch batch = {.parameters = kFirstLayer, .features = {1, 2, 0, 0}};
  batch.parameters.insert(batch.parameters.end(), {10, 1});
  // (1, 2) * (6, 1) + (1, 2) = (7, 4).
  EXPECT_THAT(cross.Forward(batch, 2, /*before=*/1000), ElementsAre(1074, 1000));
}

TEST(CrossTest, TheSecondLayerMultipliesWithTheFirstInput) {
  LoneTower cross(CrossOf(2), kTwoNumbers);
  TowerBatch batch = {.parameters = kFirstLayer, .features = {1, 2}};
  batch.parameters.insert(batch.parameters.end(), {1, 0, 0, 1, 0, 0, 10, 1});
  // (1, 2) * (7, 4) + (7, 4) = (14, 12).
  EXPECT_THAT(cross.Forward(batch, 1), ElementsAre(152));
}

TEST(CrossTest, GradientsGoToTheHeadTheLayerAndTheEmbeddings) {
  LoneTower cross(CrossOf(1), {.fields = 1, .embedding_dim = 2});
  TowerBatch batch = {.parameters = kFirstLayer, .features = {1, 2}};
  batch.parameters.insert(batch.parameters.end(), {10, 1});
  cross.Forward(batch, 1);
  const LoneTower::Gradients gradients = cross.Backward(batch, {1});
  // The state's gradient is (10, 1), that of the map (10, 1) * (1, 2) = (10, 2).
  EXPECT_THAT(gradients.parameters, ElementsAre(10, 2, 20, 4, 10, 2, 7, 4));
  // (10, 1) * (6, 1) + (10, 1) + (10, 2) W^T = (60 + 10 + 10, 1 + 1 + 22).
  EXPECT_THAT(gradients.features, ElementsAre(1 + 80, 1 + 24));
}

}  // namespace
}  // namespace capstan
