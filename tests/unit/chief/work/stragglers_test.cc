#include "chief/work/stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Steps = std::vector<std::pair<std::string, double>>;

class StragglersTest : public testing::Test {
 protected:
  // Returns who was found.
  std::vector<std::string> Pass(absl::Duration time, const Steps& steps) {
    std::vector<std::string> found;
    for (const absl::Time end = now_ + time; now_ < end;) {
      now_ += absl::Milliseconds(100);
      for (std::string& name : stragglers_.Update(steps, now_)) found.push_back(std::move(name));
    }
    return found;
  }

  Stragglers stragglers_{{.average = absl::Seconds(10), .probation = absl::Minutes(5)}};

 private:
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(StragglersTest, FindsAWorkerThatIsSlowForLongEnough) {
  const Steps steps = {{"a", 1}, {"b", 1.1}, {"c", 3}};
  EXPECT_THAT(Pass(absl::Seconds(6), steps), IsEmpty());
  EXPECT_THAT(Pass(absl::Seconds(2), steps), ElementsAre("c"));
  EXPECT_TRUE(stragglers_.IsStraggler("c"));
  EXPECT_THAT(Pass(absl::Seconds(30), steps), IsEmpty()) << "told once";
}

TEST_F(StragglersTest, FindsOneWhoseSingleStepsAreNowAndThenQuick) {
  std::vector<std::string> found;
  for (int i = 0; i < 8; ++i) {
    const Steps steps = {{"a", 1}, {"b", 1}, {"c", i % 4 == 3 ? 1.8 : 3.2}};
    for (std::string& name : Pass(absl::Seconds(2), steps)) found.push_back(std::move(name));
  }
  EXPECT_THAT(found, ElementsAre("c"));
}

TEST_F(StragglersTest, OfTwoWorkersTheFasterIsTheNorm) {
  EXPECT_THAT(Pass(absl::Seconds(10), {{"a", 1}, {"b", 10}}), ElementsAre("b"));
}

TEST_F(StragglersTest, PassesOverAShortHiccup) {
  const Steps healthy = {{"a", 1}, {"b", 1}, {"c", 1}};
  const Steps hiccup = {{"a", 1}, {"b", 1}, {"c", 90}};
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(Pass(absl::Seconds(3), hiccup), IsEmpty());
    EXPECT_THAT(Pass(absl::Seconds(10), healthy), IsEmpty());
  }
}

TEST_F(StragglersTest, DoesNotCountATimeInWhichNobodyLooked) {
  EXPECT_THAT(stragglers_.Update({{"a", 1}, {"b", 90}}, absl::UnixEpoch()), IsEmpty());
  EXPECT_THAT(stragglers_.Update({{"a", 1}, {"b", 90}}, absl::UnixEpoch() + absl::Minutes(3)),
              IsEmpty());
}

TEST_F(StragglersTest, SeesThatAWorkerHasRecovered) {
  Pass(absl::Seconds(30), {{"a", 1}, {"b", 1}, {"c", 3}});
  ASSERT_EQ(stragglers_.count(), 1u);
  Pass(absl::Seconds(20), {{"a", 1}, {"b", 1}, {"c", 1}});
  EXPECT_EQ(stragglers_.count(), 0u);
}

TEST_F(StragglersTest, GivesAnotherChanceAfterProbation) {
  const Steps steps = {{"a", 1}, {"b", 1}, {"c", 3}};
  Pass(absl::Minutes(5), steps);
  EXPECT_TRUE(stragglers_.IsStraggler("c"));
  Pass(absl::Seconds(10), steps);
  EXPECT_FALSE(stragglers_.IsStraggler("c"));
  EXPECT_EQ(stragglers_.count(), 0u);
}

TEST_F(StragglersTest, KnowsNoStragglerAmongOne) {
  EXPECT_THAT(Pass(absl::Hours(1), {{"a", 100}}), IsEmpty());
}

}  // namespace
}  // namespace capstan::chief
