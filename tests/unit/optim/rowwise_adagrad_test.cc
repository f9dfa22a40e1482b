// One accumulator for a whole row, whatever its width.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "capstan/optim/optimizer.h"
#include "tests/unit/optim/specs.h"

namespace capstan {
namespace {

using ::testing::Each;
using ::testing::FloatNear;

// The sum begins at 4; rate 1.
class RowwiseAdagradTest : public testing::Test {
 protected:
  RowwiseAdagradTest() {
    spec_.set_kind(v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD);
    spec_.set_initial_accumulator(4);
  }
  // A row of these weights after one gradient.
  OwnedParameters After(const std::vector<float>& weights,
                        const std::vector<float>& gradient) const {
    const auto adagrad = *MakeOptimizer(spec_);
    OwnedParameters row(*adagrad, weights, /*learning_rate=*/1);
    adagrad->Apply(row.view(), gradient.data(), /*learning_rate=*/1);
    return row;
  }

  v1::OptimizerSpec spec_;
};

TEST_F(RowwiseAdagradTest, ARowOfAnyWidthHasOneSlotOfTheMeanSquare) {
  for (const size_t width : {1, 3, 4, 5, 7, 16, 19}) {
    const float gradient = std::sqrt(12.0f);  // 4 + 12 is 16, whose root is 4.
    const OwnedParameters row =
        After(std::vector<float>(width, 10), std::vector<float>(width, gradient));
    ASSERT_EQ(row.slots.size(), 1u);
    EXPECT_NEAR(row.slots[0], 16, 1e-4) << width;
    EXPECT_THAT(row.weights, Each(FloatNear(10 - gradient / 4, 1e-5f))) << width;
  }
}

TEST_F(RowwiseAdagradTest, EachElementCountsOnceWhereverItIs) {
  for (size_t place = 0; place < 9; ++place) {
    std::vector<float> gradient(9);
    gradient[place] = 6;
    const OwnedParameters row = After(std::vector<float>(9), gradient);
    EXPECT_FLOAT_EQ(row.slots[0], 8) << "36 in 9 elements, at " << place;
  }
}

TEST_F(RowwiseAdagradTest, TheSumIsThatOfGradientsThatAreClippedAndDecayed) {
  spec_.set_clip_value(1);
  spec_.set_weight_decay(0.5f);
  const OwnedParameters row = After({2}, {100});
  EXPECT_FLOAT_EQ(row.slots[0], 8) << "1 + .5 * 2, squared";
  EXPECT_NEAR(row.weights[0], 2 - 2 / std::sqrt(8.0), 1e-6);
}

TEST_F(RowwiseAdagradTest, ASumThatOverflowsStopsTheRowAndMakesNoNan) {
  const float huge = std::numeric_limits<float>::max();
  const OwnedParameters row = After({1, 2, 3}, {huge, -1, 0});
  EXPECT_THAT(row.weights, testing::ElementsAre(1, 2, 3));
}

TEST_F(RowwiseAdagradTest, NothingToDivideByIsRefused) {
  spec_.set_initial_accumulator(0);
  spec_.set_epsilon(0);
  EXPECT_EQ(MakeOptimizer(spec_).status().message(),
            "optimizer: epsilon is 0, expected a number > 0");
  spec_.set_epsilon(1e-10f);
  EXPECT_TRUE(MakeOptimizer(spec_).ok());
}

}  // namespace
}  // namespace capstan
