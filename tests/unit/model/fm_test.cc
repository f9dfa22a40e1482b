#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/unit/model/lone_tower.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

const ModelShape kPairsOfTwo = {.has_keys = true, .embedding_dim = 2};

// Rows (1, 2), (3, -1), (.5, 4): their products are 1, 8.5 and -2.5.
TowerBatch ThreeRows(std::vector<uint32_t> offsets, std::vector<uint32_t> index,
                     std::vector<float> values = {}) {
  return {.offsets = std::move(offsets),
          .index = std::move(index),
          .values = std::move(values),
          .embedding = {1, 2, 3, -1, 0.5f, 4}};
}

TEST(FmTest, APairIsTheProductOfItsEmbeddings) {
  LoneTower fm(TowerOf("fm"), kPairsOfTwo);
  EXPECT_TRUE(fm.description().reads_embedding);
  EXPECT_TRUE(fm.description().tensors.empty());
  EXPECT_THAT(fm.Forward(ThreeRows({0, 3}, {0, 1, 2}), 1, /*before=*/100),
              ElementsAre(FloatNear(107, 1e-4f)));
  EXPECT_THAT(fm.Forward(ThreeRows({0, 3}, {0, 1, 2}, {2, 1, 1}), 1),
              ElementsAre(FloatNear(16.5f, 1e-4f)))
      << "a value counts in each of its pairs";
}

TEST(FmTest, OneKeyOrNoneIsNoPairAndAKeyTwiceIsOneWithItself) {
  LoneTower fm(TowerOf("fm"), kPairsOfTwo);
  EXPECT_THAT(fm.Forward(ThreeRows({0, 1, 1, 3}, {2, 0, 0}), 3),
              ElementsAre(FloatNear(0, 1e-5f), 0, FloatNear(5, 1e-5f)));
}

TEST(FmTest, TheGradientOfARowIsTheSumOfTheOthers) {
  LoneTower fm(TowerOf("fm"), kPairsOfTwo);
  const TowerBatch batch = ThreeRows({0, 3}, {0, 1, 2});
  fm.Forward(batch, 1);
  const std::vector<float> expected = {1 + 7, 1 + 6, 1 + 3, 1 + 12, 1 + 8, 1 + 2};
  EXPECT_THAT(fm.Backward(batch, {2}).embedding, Pointwise(FloatNear(1e-4f), expected));
}

}  // namespace
}  // namespace capstan
