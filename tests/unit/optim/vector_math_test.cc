#include "capstan/optim/vector_math.h"

#include <cstring>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/optim/specs.h"

namespace capstan {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(AllFiniteTest, FindsABadValueAtEveryPlaceOfEveryLength) {
  for (size_t length = 1; length <= 70; ++length) {
    std::vector<float> values = SomeFloats(length, 1);
    ASSERT_TRUE(AllFinite(values.data(), length));
    for (size_t place = 0; place < length; ++place) {
      for (float bad : {kInfinity, -kInfinity, std::nanf(""), -std::nanf("")}) {
        const float good = std::exchange(values[place], bad);
        ASSERT_FALSE(AllFinite(values.data(), length)) << place << " of " << length;
        values[place] = good;
      }
    }
  }
}

TEST(AllFiniteTest, AcceptsTheLargestAndTheSmallestNumbers) {
  const std::vector<float> values = {std::numeric_limits<float>::max(),
                                     std::numeric_limits<float>::lowest(),
                                     std::numeric_limits<float>::denorm_min(), -0.0f, 0};
  EXPECT_TRUE(AllFinite(values.data(), values.size()));
  EXPECT_TRUE(AllFinite(nullptr, 0));
}

TEST(VectorMathTest, ReadsValuesAtAnyAlignment) {
  const std::vector<float> values = SomeFloats(37, 1);
  std::vector<char> bytes(37 * 4 + 3);
  std::memcpy(bytes.data() + 3, values.data(), 37 * 4);
  std::vector<float> sum(37, 1), scaled(37);
  AddScaled(3, bytes.data() + 3, sum.data(), 37);
  Scale(3, bytes.data() + 3, scaled.data(), 37);
  for (size_t i = 0; i < 37; ++i) {
    EXPECT_EQ(sum[i], 1 + 3 * values[i]);
    EXPECT_EQ(scaled[i], 3 * values[i]);
  }
}

TEST(CompensateTest, AddsLambdaTimesTheSquaredGradientTimesTheDrift) {
  for (size_t length = 1; length <= 40; ++length) {
    std::vector<float> g = SomeFloats(length, 1);
    const std::vector<float> before = g, pulled = SomeFloats(length, 2),
                             now = SomeFloats(length, 3);
    Compensate({.gradient = g.data(), .pulled = pulled.data(), .now = now.data(), .lambda = 0.5f},
               g.data(), length);
    for (size_t i = 0; i < length; ++i) {
      EXPECT_EQ(g[i], before[i] + 0.5f * before[i] * before[i] * (now[i] - pulled[i]));
    }
  }
}

}  // namespace
}  // namespace capstan
