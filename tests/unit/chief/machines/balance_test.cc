#include "chief/machines/balance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

const absl::Time kFirstSight = absl::UnixEpoch();

class BalanceTest : public testing::Test {
 protected:
  std::string WhyAfter(double seconds) {
    const auto reason = balance_.TakeReason(kFirstSight + absl::Seconds(seconds));
    return reason ? reason->why : "";
  }

  Balance balance_{{.automatic = true,
                    .join_settling = absl::Seconds(3),
                    .leave_settling = absl::Seconds(1),
                    .hot_for = absl::Seconds(30),
                    .hot_every = absl::Seconds(60)}};
};

TEST_F(BalanceTest, ShardsThatJoinWithinAMomentAreOnePlan) {
  balance_.See({{0, 8}, {1, 8}}, {}, 1, kFirstSight);
  EXPECT_EQ(WhyAfter(10), "");
  balance_.See({{0, 8}, {1, 8}, {2, 0}}, {}, 1, kFirstSight + absl::Seconds(10));
  EXPECT_EQ(WhyAfter(12), "");
  balance_.See({{0, 8}, {1, 8}, {2, 0}, {3, 0}}, {}, 1, kFirstSight + absl::Seconds(12));
  EXPECT_EQ(WhyAfter(14), "");
  EXPECT_EQ(WhyAfter(15), "shards 2, 3 have joined");
  EXPECT_EQ(WhyAfter(20), "") << "it is said once";
  balance_.OnGivenUp();
  EXPECT_EQ(WhyAfter(21), "shards 2, 3 have joined") << "until it is to be made again";
}

TEST_F(BalanceTest, WhoLeavesComesBeforeWhoJoins) {
  balance_.See({{0, 8}, {2, 0}}, {1}, 1, kFirstSight);
  const auto reason = balance_.TakeReason(kFirstSight + absl::Seconds(1));
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->why, "shard 1 leaves");
  EXPECT_FALSE(reason->even) << "who has just joined may not be the last";
  balance_.OnCarriedOut();
  balance_.See({{0, 8}, {2, 8}}, {}, 1, kFirstSight + absl::Seconds(2));
  EXPECT_EQ(WhyAfter(9), "") << "all have enough";
}

TEST_F(BalanceTest, WhoJoinsWhileAPlanIsCarriedOutIsGivenItsShareByTheNext) {
  balance_.See({{0, 8}, {1, 8}, {2, 0}}, {}, 1, kFirstSight);
  EXPECT_EQ(WhyAfter(3), "shard 2 has joined");
  balance_.See({{0, 6}, {1, 6}, {2, 4}, {3, 0}}, {}, 1, kFirstSight + absl::Seconds(4));
  balance_.OnCarriedOut();
  EXPECT_EQ(WhyAfter(7), "shard 3 has joined");
}

TEST_F(BalanceTest, WhoCouldBeGivenNothingIsNotTriedAgain) {
  balance_.See({{0, 1}, {1, 0}}, {}, 1, kFirstSight);
  EXPECT_EQ(WhyAfter(3), "shard 1 has joined");
  balance_.OnCarriedOut();
  balance_.See({{0, 1}, {1, 0}}, {}, 1, kFirstSight + absl::Seconds(4));
  EXPECT_EQ(WhyAfter(60), "");
}

TEST_F(BalanceTest, AHotShardIsRelievedWhenItIsHotForLongAndNotTooOften) {
  const Balance::Counts crew = {{0, 8}, {1, 8}};
  balance_.See(crew, {}, 1.5, kFirstSight);
  EXPECT_EQ(WhyAfter(29), "");
  balance_.See(crew, {}, 1.2, kFirstSight + absl::Seconds(29));
  balance_.See(crew, {}, 1.5, kFirstSight + absl::Seconds(30));
  EXPECT_EQ(WhyAfter(59), "") << "it has cooled meanwhile";
  EXPECT_NE(WhyAfter(60), "");
  EXPECT_EQ(WhyAfter(119), "");
  EXPECT_NE(WhyAfter(120), "");
}

TEST_F(BalanceTest, WhoAsksIsHeardAtOnce) {
  balance_.See({{0, 8}, {1, 8}}, {}, 1, kFirstSight);
  balance_.Ask();
  EXPECT_EQ(WhyAfter(0), "somebody has asked for it");
  EXPECT_EQ(WhyAfter(1), "");
}

TEST_F(BalanceTest, WhatSomebodyHasAskedForIsMadeAgainWhereItIsGivenUp) {
  balance_.See({{0, 8}, {1, 8}}, {}, 1, kFirstSight);
  balance_.Ask();
  EXPECT_EQ(WhyAfter(0), "somebody has asked for it");
  balance_.OnGivenUp();
  EXPECT_EQ(WhyAfter(1), "somebody has asked for it");
  balance_.OnCarriedOut();
  EXPECT_EQ(WhyAfter(2), "");
  balance_.OnGivenUp();
  EXPECT_EQ(WhyAfter(3), "") << "it is done";
}

TEST_F(BalanceTest, APlanThatMakesShardsEvenForAnotherReasonDoesWhatSomebodyHasAskedFor) {
  balance_.See({{0, 8}, {1, 8}, {2, 0}}, {}, 1, kFirstSight);
  balance_.Ask();
  EXPECT_EQ(WhyAfter(3), "shard 2 has joined");
  balance_.OnCarriedOut();
  balance_.See({{0, 6}, {1, 5}, {2, 5}}, {}, 1, kFirstSight + absl::Seconds(4));
  EXPECT_EQ(WhyAfter(5), "");
}

TEST_F(BalanceTest, WhatOnlyEmptiesAShardOrMovesAFewPartitionsIsNotWhatSomebodyHasAskedFor) {
  balance_.See({{0, 8}, {1, 8}, {2, 8}}, {}, 1.5, kFirstSight);
  balance_.Ask();
  EXPECT_EQ(WhyAfter(0), "somebody has asked for it");
  EXPECT_EQ(WhyAfter(30), "a shard is much busier than the others") << "instead of it";
  EXPECT_EQ(WhyAfter(30), "somebody has asked for it");
  balance_.See({{0, 8}, {1, 8}}, {2}, 1, kFirstSight + absl::Seconds(31));
  EXPECT_EQ(WhyAfter(32), "shard 2 leaves") << "instead of it";
  EXPECT_EQ(WhyAfter(32), "somebody has asked for it");
  balance_.OnCarriedOut();
  EXPECT_EQ(WhyAfter(33), "");
}

TEST_F(BalanceTest, WithoutShardsThatStayThereIsNothingToDo) {
  balance_.See({}, {0, 1}, 1, kFirstSight);
  EXPECT_EQ(WhyAfter(60), "");
}

}  // namespace
}  // namespace capstan::chief
