#include "chief/duties/close_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// Shards 0 and 1 own the partitions; a task is done.
class CloseDutyTest : public DutyTest {
 protected:
  CloseDutyTest() {
    Run(2);
    v1::StreamClose close;
    close.set_stream(5);
    close.set_batches(2);
    job_.training.closes.Add(close, job_.writer);
  }

  // The shards that are sent a call to close the stream now.
  std::vector<uint32_t> Told() {
    std::vector<uint32_t> told;
    for (const CallShard& call : Calls()) {
      const auto* close = call.request.As<v1::CloseStreamsRequest>();
      if (close != nullptr && close->streams(0).stream() == 5) told.push_back(call.shard);
    }
    return told;
  }

  static ShardCalls::Answer Closed(uint32_t shard) {
    return {.request = v1::CloseStreamsRequest(),
            .shard = shard,
            .reply = ShardReply(v1::CloseStreamsReply())};
  }

  CloseDuty duty_{job_, orders_};
};

TEST_F(CloseDutyTest, AStreamIsClosedWhenEveryShardThatOwnsPartitionsHasClosedIt) {
  AddShard(2);
  duty_.Advance();
  EXPECT_THAT(Told(), testing::UnorderedElementsAre(0, 1));
  duty_.OnAnswer(Closed(0));
  EXPECT_FALSE(job_.training.closes.complete());
  duty_.OnAnswer(Closed(1));
  EXPECT_TRUE(job_.training.closes.complete());
}

TEST_F(CloseDutyTest, WhatAShardAnswersToOthersClosesNothing) {
  duty_.Advance();
  for (uint32_t shard : {0u, 1u}) {
    duty_.OnAnswer(
        {.request = v1::FlushRequest(), .shard = shard, .reply = ShardReply(v1::FlushReply())});
  }
  EXPECT_FALSE(job_.training.closes.complete());
}

TEST_F(CloseDutyTest, NoneIsClosedWhileACheckpointIsTaken) {
  job_.checkpoints.checkpointer.Begin({.shards = {0, 1}}, now_, job_.calls);
  duty_.Advance();
  EXPECT_THAT(Told(), testing::IsEmpty());
  job_.checkpoints.checkpointer.Abandon(absl::CancelledError("no more"), now_, job_.calls);
  duty_.Advance();
  EXPECT_THAT(Told(), testing::UnorderedElementsAre(0, 1));
}

TEST_F(CloseDutyTest, NoneIsBegunWhilePartitionsAreAboutToChangeTheirOwner) {
  CopyPartition0();
  duty_.Advance();
  EXPECT_THAT(Told(), testing::IsEmpty());
  job_.placement.moves.Cancel(/*failed=*/false, now_, job_.calls);
  duty_.Advance();
  EXPECT_THAT(Told(), testing::UnorderedElementsAre(0, 1));
}

}  // namespace
}  // namespace capstan::chief
