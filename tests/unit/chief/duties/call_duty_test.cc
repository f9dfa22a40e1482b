#include "chief/duties/call_duty.h"

#include <utility>

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class CallDutyTest : public DutyTest {
 protected:
  CallDutyTest() { Run(2); }

  // Shard 1 is called to flush; what was sent.
  CallShard Flush() { return Call(v1::FlushRequest()); }

  // Shard 1 is called; what was sent.
  template <typename Request>
  CallShard Call(Request request) {
    job_.calls.Send(1, std::move(request), {.deadline = job_.options.call_deadline});
    duty_.Send(now_);
    const std::vector<CallShard> sent = Taken<CallShard>();
    EXPECT_THAT(sent, testing::SizeIs(1));
    return sent.at(0);
  }

  CallDuty duty_{job_, orders_};
};

TEST_F(CallDutyTest, AnAnswerGoesToTheDutyThatHasAsked) {
  const CallShard flush = Flush();
  job_.placement.heard_of_shards = false;
  const auto answer = duty_.OnReply(flush.call, ShardReply(v1::FlushReply()), now_);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->IsTo<v1::FlushRequest>());
  EXPECT_FALSE(answer->IsTo<v1::CloseStreamsRequest>());
  EXPECT_EQ(answer->shard, 1u);
  EXPECT_TRUE(job_.placement.heard_of_shards);
}

TEST_F(CallDutyTest, AStreamThatIsClosedIsNoReasonToLookAtTheShardsAgain) {
  const CallShard close = Call(v1::CloseStreamsRequest());
  job_.placement.heard_of_shards = false;
  EXPECT_TRUE(duty_.OnReply(close.call, ShardReply(v1::CloseStreamsReply()), now_));
  EXPECT_FALSE(job_.placement.heard_of_shards);
  EXPECT_FALSE(
      duty_.OnReply(Call(v1::CloseStreamsRequest()).call, absl::UnavailableError("away"), now_));
  EXPECT_TRUE(job_.placement.heard_of_shards) << "a shard that cannot be called may be lost";
}

TEST_F(CallDutyTest, WhatAProcessDidThatHasBeenReplacedSinceIsAsIfItHadNotBeenDone) {
  const CallShard flush = Flush();
  AddShard(1, /*incarnation=*/7);
  EXPECT_FALSE(duty_.OnReply(flush.call, ShardReply(v1::FlushReply()), now_));
}

TEST_F(CallDutyTest, AShardThatRefusesMayKnowOfALaterChiefSoTheStateIsToBeWritten) {
  const StateWriter::Ticket before = job_.writer.Note();
  EXPECT_FALSE(duty_.OnReply(Flush().call, absl::UnavailableError("away"), now_));
  EXPECT_EQ(job_.writer.Note(), before + 1) << "it says nothing of a chief";
  EXPECT_FALSE(duty_.OnReply(Flush().call, absl::FailedPreconditionError("an old term"), now_));
  EXPECT_EQ(job_.writer.Note(), before + 3);
}

TEST_F(CallDutyTest, AShardThatKeepsRefusingFailsTheJobUnlessItHasEnded) {
  CallShard flush = Flush();
  while (job_.calls.Refusal().ok()) {
    duty_.CheckRefusal();
    ASSERT_EQ(job_.state, v1::JOB_STATE_RUNNING);
    EXPECT_FALSE(duty_.OnReply(flush.call, absl::InvalidArgumentError("what?"), now_));
    now_ += absl::Minutes(1);
    duty_.Send(now_);
    flush = Taken<CallShard>().at(0);
  }
  job_.state = v1::JOB_STATE_COMPLETED;
  duty_.CheckRefusal();
  EXPECT_EQ(job_.state, v1::JOB_STATE_COMPLETED);
  job_.state = v1::JOB_STATE_RUNNING;
  duty_.CheckRefusal();
  EXPECT_EQ(job_.state, v1::JOB_STATE_FAILED);
  EXPECT_EQ(job_.reason, "shard 1 refuses Flush: what?");
}

TEST_F(CallDutyTest, OnlyCallsThatHurryDoNotWaitForTheNextTick) {
  const absl::Duration deadline = job_.options.call_deadline;
  job_.calls.Send(1, v1::FlushRequest(), {.deadline = deadline, .due = now_});
  EXPECT_EQ(duty_.NextWake(), absl::InfiniteFuture());
  job_.calls.Send(1, v1::MovePartitionsRequest(),
                  {.deadline = deadline, .due = now_ + absl::Seconds(1), .hurries = true});
  EXPECT_EQ(duty_.NextWake(), now_ + absl::Seconds(1));
  job_.calls.Send(0, v1::HoldRoundsRequest(), {.deadline = deadline, .due = now_, .hurries = true});
  EXPECT_EQ(duty_.NextWake(), now_);
}

}  // namespace
}  // namespace capstan::chief
