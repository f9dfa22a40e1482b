#include "ps/partition/rounds.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace capstan::ps {
namespace {

constexpr Timeline kLine{1};

RoundCommit Set(uint64_t round) { return {round, {{LaneIndex{0}, {1, 1}, 1}}}; }
bool Free() { return true; }
bool NotFree() { return false; }

TEST(RoundsTest, AShardWithPartitionsLearnsNoRoundBeforeTheNext) {
  Rounds rounds;
  rounds.Reset(kLine, 0);
  rounds.Learn(kLine, Set(3), NotFree);
  EXPECT_EQ(rounds.last_round(), 0u);
  rounds.Learn(kLine, Set(1), NotFree);
  EXPECT_EQ(rounds.last_round(), 1u);
}

TEST(RoundsTest, OneWithoutPartitionsBeginsAnywhere) {
  Rounds rounds;
  rounds.Reset(kLine, 0);
  rounds.Learn(kLine, Set(30), Free);
  EXPECT_EQ(rounds.last_round(), 30u);
  EXPECT_EQ(rounds.SetOf(30), Set(30));
  EXPECT_TRUE(rounds.After(30).empty());
}

TEST(RoundsTest, APartitionThatIsExpectedKeepsWhatItHasNotPassed) {
  Rounds rounds;
  rounds.Reset(kLine, 0);
  ASSERT_TRUE(rounds.Pin(kLine, Set(7), Free).ok());
  EXPECT_EQ(rounds.last_round(), 7u);
  rounds.Learn(kLine, Set(20), Free);
  EXPECT_EQ(rounds.last_round(), 7u) << "it needs the rounds between";
  rounds.Learn(kLine, Set(8), Free);
  rounds.Forget(8);
  ASSERT_EQ(rounds.After(7).size(), 1u);
  rounds.Unpin(kLine, 7);
  rounds.Forget(8);
  EXPECT_TRUE(rounds.Pin(kLine, Set(7), Free).message().find("forgotten") != std::string::npos);
}

TEST(RoundsTest, OneThatIsAheadBringsTheNextRoundAndWaitsForMore) {
  Rounds rounds;
  rounds.Reset(kLine, 4);
  EXPECT_TRUE(absl::IsUnavailable(rounds.Pin(kLine, Set(6), NotFree)));
  EXPECT_TRUE(absl::IsUnavailable(rounds.Pin(kLine, {5, {}}, NotFree))) << "of what it was";
  EXPECT_TRUE(rounds.Pin(kLine, Set(5), NotFree).ok());
  EXPECT_EQ(rounds.After(4), std::vector<RoundCommit>{Set(5)});
  EXPECT_TRUE(absl::IsAborted(rounds.Pin(Timeline{2}, Set(6), NotFree)));
}

TEST(RoundsTest, ShowsWhatIsKept) {
  Rounds rounds;
  rounds.Reset(Timeline{3}, 4);
  const auto kept = [&rounds] {
    std::vector<uint64_t> found;
    rounds.WithKept([&found](const ClosedLog& log) {
      for (const RoundCommit& set : log.After(0)) found.push_back(set.round);
    });
    return found;
  };
  EXPECT_TRUE(kept().empty());
  for (const uint64_t round : {5, 6, 7})
    rounds.Learn(Timeline{3}, {round, {}}, [] { return false; });
  rounds.Forget(5);
  EXPECT_EQ(kept(), (std::vector<uint64_t>{6, 7}));
}

}  // namespace
}  // namespace capstan::ps
