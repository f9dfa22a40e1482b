#include "ps/machines/quorum_clocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>

namespace capstan::ps {
namespace {

TEST(QuorumClocksTest, TheSlowestAndTheFastestAreThoseOfAllWhateverIsSet) {
  std::mt19937 draw(7);
  QuorumClocks clocks;
  std::map<TrainerId, uint64_t> expected;
  for (int i = 0; i < 2000; ++i) {
    const TrainerId trainer{draw() % 20};
    const uint64_t clock = draw() % 50;
    clocks.Set(trainer, clock);
    expected[trainer] = clock;
    const auto by_clock = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [low, high] = std::minmax_element(expected.begin(), expected.end(), by_clock);
    ASSERT_EQ(clocks.slowest(), low->second);
    ASSERT_EQ(clocks.fastest(), high->second);
    ASSERT_EQ(*clocks.Find(trainer), clock);
  }
  EXPECT_EQ(clocks.all(), expected);
}

TEST(QuorumClocksTest, WithoutAQuorumNobodyIsSlow) {
  QuorumClocks clocks;
  clocks.Set(TrainerId{1}, 5);
  clocks.Clear();
  EXPECT_EQ(clocks.slowest(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(clocks.Find(TrainerId{1}), nullptr);
  EXPECT_EQ(clocks.size(), 0u);
}

}  // namespace
}  // namespace capstan::ps
