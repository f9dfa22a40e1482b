#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/lone_tower.h"

namespace capstan {
namespace {

using testing::ElementsAre;

TEST(MlpTest, ReadsEmbeddingsAndNumbersSideBySide) {
  LoneTower mlp(TowerOf("mlp"), {.fields = 1, .embedding_dim = 2, .dense_width = 1, .outputs = 2});
  EXPECT_TRUE(mlp.description().reads_features);
  EXPECT_THAT(mlp.TensorNames(), ElementsAre("weights_0", "bias_0"));
  const TowerBatch batch = {.parameters = {1, 2, 3, 4, 5, 6, 0.5f, -0.5f},
                            .features = {1, 10, 100}};
  EXPECT_THAT(mlp.Forward(batch, 1, /*before=*/1000), ElementsAre(1531.5f, 1641.5f));
  const LoneTower::Gradients gradients = mlp.Backward(batch, {1, 2});
  EXPECT_THAT(gradients.parameters, ElementsAre(1, 2, 10, 20, 100, 200, 1, 2));
  EXPECT_THAT(gradients.features, ElementsAre(1 + 1 + 4, 1 + 3 + 8)) << "none for the number";
}

TEST(MlpTest, HiddenLayersAreThoseOfTheTowerAndNotOfTheModelsHead) {
  LoneTower mlp(TowerOf("mlp", {1}), {.has_keys = false, .dense_width = 2, .hidden = {9, 9}});
  EXPECT_THAT(mlp.TensorNames(), ElementsAre("weights_0", "bias_0", "weights_1", "bias_1"));
  const TowerBatch batch = {.parameters = {1, -1, 0.5f, 7, 2}, .features = {1, 2, 2, 1}};
  // 1 - 2 + .5 is below 0; 2 - 1 + .5 is not.
  EXPECT_THAT(mlp.Forward(batch, 2), ElementsAre(2, 12.5f));
}

}  // namespace
}  // namespace capstan
