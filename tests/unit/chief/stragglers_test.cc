#include "chief/stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr StragglerOptions kOptions = {
    .factor = 2, .after = absl::Seconds(10), .probation = absl::Minutes(5)};
const absl::Time kStart = absl::UnixEpoch();

TEST(StragglersTest, FindsAWorkerThatIsSlowForLongEnough) {
  Stragglers stragglers(kOptions);
  const std::vector<std::pair<std::string, double>> steps = {{"a", 1}, {"b", 1.1}, {"c", 2.5}};
  EXPECT_THAT(stragglers.Update(steps, kStart), IsEmpty());
  EXPECT_THAT(stragglers.Update(steps, kStart + absl::Seconds(9)), IsEmpty());
  EXPECT_THAT(stragglers.Update(steps, kStart + absl::Seconds(10)), ElementsAre("c"));
  EXPECT_TRUE(stragglers.IsStraggler("c"));
  EXPECT_THAT(stragglers.Update(steps, kStart + absl::Seconds(11)), IsEmpty());
}

TEST(StragglersTest, OfTwoWorkersTheFasterIsTheNorm) {
  Stragglers stragglers(kOptions);
  stragglers.Update({{"a", 1}, {"b", 10}}, kStart);
  EXPECT_THAT(stragglers.Update({{"a", 1}, {"b", 10}}, kStart + absl::Seconds(10)),
              ElementsAre("b"));
}

TEST(StragglersTest, PassesOverAShortHiccup) {
  Stragglers stragglers(kOptions);
  stragglers.Update({{"a", 1}, {"b", 1}, {"c", 9}}, kStart);
  stragglers.Update({{"a", 1}, {"b", 1}, {"c", 1}}, kStart + absl::Seconds(5));
  stragglers.Update({{"a", 1}, {"b", 1}, {"c", 9}}, kStart + absl::Seconds(6));
  EXPECT_THAT(stragglers.Update({{"a", 1}, {"b", 1}, {"c", 9}}, kStart + absl::Seconds(12)),
              IsEmpty());
}

TEST(StragglersTest, GivesAnotherChanceAfterProbation) {
  Stragglers stragglers(kOptions);
  const std::vector<std::pair<std::string, double>> steps = {{"a", 1}, {"b", 1}, {"c", 3}};
  stragglers.Update(steps, kStart);
  stragglers.Update(steps, kStart + absl::Seconds(10));
  stragglers.Update(steps, kStart + absl::Seconds(10) + absl::Minutes(5));
  EXPECT_FALSE(stragglers.IsStraggler("c"));
  EXPECT_EQ(stragglers.count(), 0u);
}

TEST(StragglersTest, KnowsNoStragglerAmongOne) {
  Stragglers stragglers(kOptions);
  stragglers.Update({{"a", 100}}, kStart);
  EXPECT_THAT(stragglers.Update({{"a", 100}}, kStart + absl::Hours(1)), IsEmpty());
}

}  // namespace
}  // namespace capstan::chief
