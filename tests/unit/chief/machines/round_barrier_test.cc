// All shards are brought to one round, whatever becomes of the coordinator meanwhile.
#include "chief/machines/round_barrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kPatience = absl::Seconds(1);

class RoundBarrierTest : public testing::Test {
 protected:
  RoundBarrierTest() {
    for (const uint32_t index : {0u, 1u}) view_.add_shards()->set_index(index);
  }

  // What goes out now: "hold 1 to 0" is the order number 1 to shard 0.
  std::vector<std::string> Sent() {
    std::vector<std::string> sent;
    for (const CallShard& call : calls_.TakeDue(view_, shards_, absl::UnixEpoch())) {
      if (const auto* order = call.request.As<v1::HoldRoundsRequest>()) {
        sent.push_back(absl::StrCat(order->hold() ? "hold " : "release ", order->number(), " to ",
                                    call.shard));
      } else {
        const auto& commit = call.request.Get<v1::CommitRoundRequest>();
        sent.push_back(absl::StrCat("commit ", commit.closed().round(), " to ", call.shard));
      }
    }
    return sent;
  }
  void Seek(uint32_t coordinator = 0) { barrier_.Seek(coordinator, kPatience, calls_); }
  // The coordinator has answered the last order: its last round was this one.
  void Answered(uint64_t round) {
    calls_.Cancel<v1::HoldRoundsRequest>();
    v1::HoldRoundsReply reply;
    reply.mutable_last()->set_round(round);
    barrier_.OnHeld(reply, {0, 1}, kPatience, calls_);
  }
  void Committed(uint32_t shard) { calls_.Cancel<v1::CommitRoundRequest>(shard); }
  void Reach(uint64_t round) {
    Seek();
    Answered(round);
    Committed(0);
    Committed(1);
    ASSERT_TRUE(barrier_.OnCommitted(calls_));
  }

  v1::View view_;
  ShardTable shards_{/*quorum=*/0, /*most=*/8};
  ShardCalls calls_;
  RoundBarrier barrier_;
};

TEST_F(RoundBarrierTest, IsReachedOnceWhenEveryShardHasTheLastCommit) {
  Seek();
  Seek();
  EXPECT_THAT(Sent(), ElementsAre("hold 1 to 0"));
  EXPECT_FALSE(barrier_.OnCommitted(calls_)) << "nobody has been sent the commit";
  Answered(7);
  EXPECT_THAT(Sent(), ElementsAre("commit 7 to 0", "commit 7 to 1"));
  Committed(0);
  EXPECT_FALSE(barrier_.OnCommitted(calls_));
  Committed(1);
  EXPECT_TRUE(barrier_.OnCommitted(calls_));
  EXPECT_FALSE(barrier_.OnCommitted(calls_));
  EXPECT_TRUE(barrier_.reached());
  EXPECT_EQ(barrier_.round(), 7u);
}

TEST_F(RoundBarrierTest, NoHoldIsSentWhileTheReleaseBeforeItMayStillComeAfterIt) {
  Reach(7);
  (void)Sent();
  barrier_.Release(0, kPatience, calls_);
  EXPECT_FALSE(barrier_.reached());
  Seek();
  EXPECT_THAT(Sent(), ElementsAre("release 2 to 0"));
  Answered(9);
  EXPECT_THAT(Sent(), IsEmpty()) << "rounds are open: there is no last one to carry out";
  EXPECT_EQ(barrier_.round(), 7u);
  Seek();
  EXPECT_THAT(Sent(), ElementsAre("hold 3 to 0"));
}

TEST_F(RoundBarrierTest, AReleaseEndsTheWaitOfABarrierThatIsNotReached) {
  Seek();
  Answered(7);
  barrier_.Release(0, kPatience, calls_);
  EXPECT_THAT(Sent(), ElementsAre("release 2 to 0")) << "no commit is sent any more";
  EXPECT_FALSE(barrier_.OnCommitted(calls_));
}

TEST_F(RoundBarrierTest, WhereBackupsHaveTakenOverABarrierIsAskedForAnew) {
  Reach(7);
  barrier_.AskAnew(/*coordinator=*/1, /*replaced=*/true, kPatience, calls_);
  EXPECT_FALSE(barrier_.reached()) << "the new coordinator may have closed another round";
  EXPECT_THAT(Sent(), ElementsAre("hold 2 to 1"));
  Answered(8);
  barrier_.AskAnew(1, /*replaced=*/false, kPatience, calls_);
  EXPECT_THAT(Sent(), ElementsAre("hold 3 to 1")) << "commits to the lost shard are dropped";
}

TEST_F(RoundBarrierTest, ANewCoordinatorIsReleasedFromTheOrdersOfTheOneBeforeWhereNoneIsWanted) {
  barrier_.AskAnew(1, /*replaced=*/false, kPatience, calls_);
  EXPECT_THAT(Sent(), IsEmpty());
  barrier_.AskAnew(1, /*replaced=*/true, kPatience, calls_);
  EXPECT_THAT(Sent(), ElementsAre("release 1 to 1"));
}

TEST_F(RoundBarrierTest, WhatIsAnsweredAfterAReturnToAnEarlierRoundIsNotHeard) {
  Seek();
  (void)Sent();
  barrier_.Reset();
  Answered(7);
  EXPECT_THAT(Sent(), IsEmpty());
  EXPECT_EQ(barrier_.state(), RoundBarrier::State::kNone);
  EXPECT_EQ(barrier_.round(), 0u);
}

}  // namespace
}  // namespace capstan::chief
