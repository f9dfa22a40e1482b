#include "capstan/optim/vector_math.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hwy/highway.h"
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

// The sum of the squares, with its additions in the order that the header promises.
double SquaresInOrder(const std::vector<float>& values) {
  double sums[8] = {}, sum = 0;
  const size_t whole = values.size() / 8 * 8;
  for (size_t i = 0; i < whole; ++i) sums[i % 8] += static_cast<double>(values[i]) * values[i];
  for (size_t i = whole; i < values.size(); ++i) sum += static_cast<double>(values[i]) * values[i];
  for (const double of_eighth : sums) sum += of_eighth;
  return sum;
}

TEST(CopyAndSquareTest, CopiesAndAddsInOneOrderForEveryLengthOnEveryTarget) {
  for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    hwy::SetSupportedTargetsForTest(rest & -rest);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (size_t length = 0; length <= 70; ++length) {
      std::vector<float> values = SomeFloats(length, 1), copy(length);
      for (size_t i = 0; i < length; ++i) values[i] *= std::exp(static_cast<float>(i * 29 % 17));
      std::vector<char> bytes(length * 4 + 1);  // One byte off any alignment of floats.
      if (length > 0) std::memcpy(bytes.data() + 1, values.data(), length * 4);
      const double wanted = SquaresInOrder(values);
      EXPECT_EQ(CopyAndSquare(bytes.data() + 1, copy.data(), length), wanted) << length;
      EXPECT_EQ(copy, values);
      EXPECT_EQ(CopyAndSquare(copy.data(), copy.data(), length), wanted) << "in place";
      EXPECT_EQ(copy, values);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(CopyAndSquareTest, TheSumIsFiniteExactlyIfEveryValueIs) {
  for (size_t place = 0; place < 19; ++place) {
    std::vector<float> values(19, std::numeric_limits<float>::max()), copy(19);
    EXPECT_TRUE(std::isfinite(CopyAndSquare(values.data(), copy.data(), 19)));
    for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
      values[place] = bad;
      EXPECT_FALSE(std::isfinite(CopyAndSquare(values.data(), copy.data(), 19))) << place;
    }
  }
}

}  // namespace
}  // namespace capstan
