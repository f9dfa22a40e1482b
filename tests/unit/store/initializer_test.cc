#include "capstan/store/initializer.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

v1::Initializer Of(v1::InitializerKind kind, float scale) {
  v1::Initializer initializer;
  initializer.set_kind(kind);
  initializer.set_scale(scale);
  return initializer;
}

std::vector<float> Values(const v1::Initializer& initializer, InitialPlace place, size_t count) {
  std::vector<float> values(count);
  FillInitial(initializer, place, values.data(), count);
  return values;
}

struct Moments {
  double mean = 0, deviation = 0;
};
Moments MomentsOf(const std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (float value : values) sum += value, squares += double{value} * value;
  const double mean = sum / values.size();
  return {mean, std::sqrt(squares / values.size() - mean * mean)};
}

TEST(FillInitialTest, GivesTheSameValuesWhateverThePieces) {
  const v1::Initializer normal = Of(v1::INITIALIZER_KIND_NORMAL, 1);
  const std::vector<float> whole = Values(normal, {1, 2, 0}, 100);
  const std::vector<float> tail = Values(normal, {1, 2, 40}, 60);
  EXPECT_EQ(std::vector<float>(whole.begin() + 40, whole.end()), tail);
}

TEST(FillInitialTest, GivesOtherValuesToOtherSeedsAndStreams) {
  const v1::Initializer uniform = Of(v1::INITIALIZER_KIND_UNIFORM, 1);
  EXPECT_NE(Values(uniform, {1, 2, 0}, 4), Values(uniform, {2, 2, 0}, 4));
  EXPECT_NE(Values(uniform, {1, 2, 0}, 4), Values(uniform, {1, 3, 0}, 4));
}

TEST(FillInitialTest, DrawsNormalValuesOfTheWishedDeviation) {
  const Moments moments =
      MomentsOf(Values(Of(v1::INITIALIZER_KIND_NORMAL, 0.01f), {1, 2, 0}, 100'000));
  EXPECT_NEAR(moments.mean, 0, 1e-4);
  EXPECT_NEAR(moments.deviation, 0.01, 1e-4);
}

TEST(FillInitialTest, DrawsUniformValuesWithinTheScale) {
  const std::vector<float> values =
      Values(Of(v1::INITIALIZER_KIND_UNIFORM, 0.5f), {1, 2, 0}, 100'000);
  EXPECT_NEAR(MomentsOf(values).mean, 0, 0.005);
  EXPECT_NEAR(MomentsOf(values).deviation, 0.5 / std::sqrt(3), 0.002);
  for (float value : values) ASSERT_LE(std::abs(value), 0.5f);
}

TEST(FillInitialTest, FillsWithAConstantOrZero) {
  EXPECT_THAT(Values(Of(v1::INITIALIZER_KIND_CONSTANT, 3), {}, 3), testing::Each(3));
  EXPECT_THAT(Values(v1::Initializer(), {}, 3), testing::Each(0));
}

// Golden, computed by another program: a row that appears after a restore would come out
// differently if this ever changed.
TEST(FillInitialTest, NeverChanges) {
  const std::vector<float> normal = Values(Of(v1::INITIALIZER_KIND_NORMAL, 1), {42, 7, 0}, 3);
  const std::vector<float> uniform = Values(Of(v1::INITIALIZER_KIND_UNIFORM, 1), {42, 7, 0}, 3);
  EXPECT_THAT(normal, testing::ElementsAre(testing::FloatNear(-0.1015094f, 1e-6f),
                                           testing::FloatNear(-0.7954226f, 1e-6f),
                                           testing::FloatNear(0.9434882f, 1e-6f)));
  EXPECT_THAT(uniform, testing::ElementsAre(-0.08085393160581589f, -0.5736322402954102f,
                                            0.6545687317848206f));
}

TEST(CheckInitializerTest, RefusesWhatCannotBeDrawn) {
  EXPECT_TRUE(CheckInitializer(v1::Initializer()).ok());
  EXPECT_FALSE(CheckInitializer(Of(v1::INITIALIZER_KIND_NORMAL, NAN)).ok());
  EXPECT_FALSE(CheckInitializer(Of(static_cast<v1::InitializerKind>(77), 1)).ok());
}

}  // namespace
}  // namespace capstan
