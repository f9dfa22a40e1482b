#include "ps/machines/closed_log.h"

#include <gtest/gtest.h>

namespace capstan::ps {
namespace {

TEST(ClosedLogTest, KeepsWhatIsNextInLine) {
  ClosedLog log;
  log.Learn({0, {}});
  log.Learn({2, {}});
  EXPECT_EQ(log.last_round(), 0u);
  log.Learn({1, {}});
  log.Learn({1, {}});
  log.Learn({2, {}});
  EXPECT_EQ(log.last_round(), 2u);
  ASSERT_EQ(log.After(0).size(), 2u);
  EXPECT_EQ(log.After(1)[0].round, 2u);
  EXPECT_TRUE(log.After(2).empty());
  EXPECT_TRUE(log.After(9).empty());
}

TEST(ClosedLogTest, ForgetsWhatAllHavePassed) {
  ClosedLog log(/*passed=*/5);
  log.Learn({6, {}});
  log.Learn({7, {}});
  log.Forget(6);
  EXPECT_EQ(log.After(0).size(), 1u);
  EXPECT_EQ(log.last_round(), 7u);
  log.Forget(100);
  EXPECT_EQ(log.last_round(), 7u);
}

TEST(ClosedLogTest, SaysWhenItIsLong) {
  ClosedLog log;
  for (uint64_t round = 1; round < ClosedLog::kLong; ++round) EXPECT_FALSE(log.Learn({round, {}}));
  EXPECT_TRUE(log.Learn({ClosedLog::kLong, {}}));
}

TEST(ClosedLogTest, TellsTheLastSetAlsoWhenItIsForgotten) {
  ClosedLog log(/*passed=*/4);
  EXPECT_EQ(log.SetOf(4), (RoundCommit{4, {}})) << "it was never told";
  const RoundCommit five{5, {{LaneIndex{0}, {1, 1}, 2}}}, six{6, {{LaneIndex{1}, {1, 1}, 3}}};
  log.Learn(five);
  log.Learn(six);
  EXPECT_EQ(log.SetOf(5), five);
  log.Forget(6);
  EXPECT_EQ(log.SetOf(6), six);
  EXPECT_EQ(log.SetOf(5), (RoundCommit{5, {}}));
  EXPECT_TRUE(log.Follows(6));
  EXPECT_FALSE(log.Follows(5));
  EXPECT_FALSE(log.Follows(7));
}

}  // namespace
}  // namespace capstan::ps
