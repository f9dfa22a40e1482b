#include "worker/lane_holder.h"

#include <gtest/gtest.h>

#include "tests/unit/worker_machines/testing.h"

namespace capstan::worker {
namespace {

using Opened = v1::OpenRoundReply;
using Reported = v1::ReportLaneReply;

LaneLease LeaseOfLane() {
  LaneLease lease;
  lease.options.generation = {1, 7};
  lease.options.shard_count = 2;
  lease.lane = LaneIndex{3};
  return lease;
}

void OpenRound(Driver& holder, uint64_t round, uint64_t cursor) {
  OpenDone done;
  done.ticket = holder.Take<SendOpen>().ticket;
  done.answer = Opened::ANSWER_OPEN;
  done.round = round;
  done.closed = {round - 1, {}};
  done.cursor = cursor;
  holder.Feed(done);
}

void Answer(Driver& holder, Reported::Answer answer) {
  holder.Feed(ReportDone{holder.Take<SendReport>().ticket, {}, answer});
}

// From an open round to the report of its gradient.
void Stage(Driver& holder, uint64_t length) {
  holder.Read(length);
  holder.Pull();
  holder.ComputeAll();
  holder.Push();
}

TEST(LaneHolderTest, OffersTheBatchesOfItsLaneRoundAfterRound) {
  Driver holder(NewLaneHolder(LeaseOfLane()));
  for (uint64_t round = 1; round <= 2; ++round) {
    OpenRound(holder, round, /*cursor=*/round - 1);
    Stage(holder, /*length=*/2);
    Answer(holder, Reported::ANSWER_COUNTED);
  }
  OpenRound(holder, 3, 2);
  holder.Read(2);
  const SendReport end = holder.Take<SendReport>();
  EXPECT_TRUE(end.end_of_data);
  holder.Feed(ReportDone{end.ticket, {}, Reported::ANSWER_COUNTED});
  EXPECT_EQ(holder.Take<Finished>().why, Finished::Why::kDone);
  EXPECT_EQ(holder.progress().batches_done, 2u);
  EXPECT_EQ(holder.progress().examples, 8u);
}

TEST(LaneHolderTest, EveryRequestOfARoundCarriesTheClosedSet) {
  Driver holder(NewLaneHolder(LeaseOfLane()));
  OpenRound(holder, 5, 0);
  holder.Read(9);
  const std::vector<SendPull> pulls = holder.TakeAll<SendPull>();
  EXPECT_EQ(pulls.at(0).lane->round, 5u);
  EXPECT_EQ(pulls.at(0).lane->closed.round, 4u);
  for (const SendPull& pull : pulls) holder.Feed(PullDone{pull.ticket, {}, {}});
  holder.ComputeAll();
  const std::vector<SendPush> stages = holder.TakeAll<SendPush>();
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[1].stage->closed.round, 4u);
  EXPECT_FALSE(stages[1].stream.has_value());
}

TEST(LaneHolderTest, StagesOnEveryShardBeforeItReports) {
  LaneLease lease = LeaseOfLane();
  lease.options.shard_count = 3;
  Driver holder(NewLaneHolder(lease));
  OpenRound(holder, 1, 0);
  holder.Read(9);
  holder.Pull();
  holder.ComputeAll();
  const std::vector<SendPush> stages = holder.TakeAll<SendPush>();
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_TRUE(stages[2].empty);
  holder.Feed(PushDone{stages[0].ticket, {}, {}, {}});
  holder.Feed(PushDone{stages[1].ticket, {}, {}, {}});
  EXPECT_TRUE(holder.TakeAll<SendReport>().empty());
  holder.Feed(PushDone{stages[2].ticket, {}, {}, {}});
  EXPECT_EQ(holder.Take<SendReport>().examples, 4u);
}

TEST(LaneHolderTest, WhatCameTooLateIsComputedAgainInTheNextRound) {
  Driver holder(NewLaneHolder(LeaseOfLane()));
  OpenRound(holder, 1, 0);
  Stage(holder, 9);
  Answer(holder, Reported::ANSWER_LATE);
  OpenRound(holder, 2, /*cursor=*/0);
  EXPECT_TRUE(holder.TakeAll<ReadBatch>().size() <= 1) << "the batch itself is still there";
  holder.Pull();
  EXPECT_EQ(holder.Take<Compute>().batch, 0u);
  EXPECT_EQ(holder.progress().late, 1u);
  EXPECT_EQ(holder.progress().batches_done, 0u);
}

TEST(LaneHolderTest, ARoundThatIsOverIsLeftAtOnce) {
  Driver holder(NewLaneHolder(LeaseOfLane()));
  OpenRound(holder, 1, 0);
  holder.Read(9);
  holder.Feed(PullDone{holder.TakeAll<SendPull>()[0].ticket, absl::AbortedError("closed"), {}});
  OpenRound(holder, 2, 0);
  EXPECT_EQ(holder.TakeAll<SendPull>().at(0).lane->round, 2u);
}

TEST(LaneHolderTest, ALostAnswerToAReportIsLearntFromTheCursor) {
  Driver holder(NewLaneHolder(LeaseOfLane()));
  OpenRound(holder, 1, 0);
  Stage(holder, 9);
  Answer(holder, Reported::ANSWER_LATE);  // Of a keeper that had counted it and gone on.
  OpenRound(holder, 3, /*cursor=*/1);
  EXPECT_EQ(holder.progress().examples, 4u);
  EXPECT_EQ(holder.progress().late, 0u);
}

TEST(LaneHolderTest, ARoundSeesOneComputationOfALane) {
  Driver holder(NewLaneHolder(LeaseOfLane()));
  OpenRound(holder, 1, 0);
  Stage(holder, 9);
  Answer(holder, Reported::ANSWER_LATE);
  OpenRound(holder, 1, 0);  // Not over after all.
  holder.Wake();            // Not at once.
  OpenRound(holder, 1, 0);
  EXPECT_TRUE(holder.TakeAll<Compute>().empty());
  EXPECT_EQ(holder.Take<SendReport>().round, 1u);
}

TEST(LaneHolderTest, ALaterGenerationEndsTheLease) {
  Driver holder(NewLaneHolder(LeaseOfLane()));
  OpenDone done;
  done.ticket = holder.Take<SendOpen>().ticket;
  done.answer = Opened::ANSWER_OLD_GENERATION;
  holder.Feed(done);
  EXPECT_EQ(holder.Take<Finished>().why, Finished::Why::kLost);
}

TEST(LaneHolderTest, AStepWithoutAFiniteGradientIsStagedEmptyAndWeighsNothing) {
  Driver holder(NewLaneHolder(LeaseOfLane()));
  OpenRound(holder, 1, 0);
  holder.Read(9);
  holder.Pull();
  holder.Feed(Computed{holder.Take<Compute>().batch, 1, /*nonfinite=*/true});
  const std::vector<SendPush> stages = holder.TakeAll<SendPush>();
  EXPECT_TRUE(stages.at(0).empty && stages.at(1).empty);
  for (const SendPush& push : stages) holder.Feed(PushDone{push.ticket, {}, {}, {}});
  EXPECT_EQ(holder.Take<SendReport>().examples, 0u);
}

TEST(LaneHolderTest, DrainedItFinishesTheRoundThatItComputes) {
  Driver holder(NewLaneHolder(LeaseOfLane()));
  OpenRound(holder, 1, 0);
  holder.Read(9);
  holder.Pull();
  holder.Feed(Drain{holder.now + absl::Seconds(4)});
  holder.ComputeAll();
  holder.Push();
  Answer(holder, Reported::ANSWER_COUNTED);
  EXPECT_EQ(holder.Take<Finished>().why, Finished::Why::kReturned);
  EXPECT_EQ(holder.progress().batches_done, 1u);
}

TEST(LaneHolderTest, InTheHybridAPushHasBothNames) {
  LaneLease lease = LeaseOfLane();
  lease.has_stream = true;
  Driver holder(NewLaneHolder(lease));
  OpenRound(holder, 1, 0);
  holder.Read(9);
  holder.Pull();
  holder.ComputeAll();
  const SendPush push = holder.TakeAll<SendPush>()[0];
  EXPECT_EQ(push.stage->lane, LaneIndex{3});
  EXPECT_EQ(push.stream->stream, StreamId{77});
  EXPECT_EQ(push.stream->low_mark, push.stream->seq);
}

TEST(LaneHolderTest, AHolderThatWaitsForTheNextRoundTellsThatTheOnesBeforeAreOver) {
  LaneLease lease = LeaseOfLane();
  lease.options.ssp = true;
  Driver holder(NewLaneHolder(lease));
  OpenDone wait;
  wait.ticket = holder.Take<SendOpen>().ticket;
  wait.answer = Opened::ANSWER_WAIT;
  wait.round = 4;
  holder.Feed(wait);
  const std::vector<SendClock> clocks = holder.TakeAll<SendClock>();
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_EQ(clocks[0].clock, 3u);
}

TEST(LaneHolderTest, CallsOfAStageThatIsOverWakeNobody) {
  Driver holder(NewLaneHolder(LeaseOfLane()));
  OpenRound(holder, 1, 0);
  holder.Read(9);
  holder.Pull();
  holder.ComputeAll();
  const std::vector<SendPush> stages = holder.TakeAll<SendPush>();
  holder.Feed(PushDone{stages[0].ticket, absl::UnavailableError("away"), {}, {}});
  FateSummary over;
  over.Count(v1::FATE_WRONG_ROUND);
  holder.Feed(PushDone{stages[1].ticket, {}, over, {}});
  EXPECT_EQ(holder.TakeAll<SendOpen>().size(), 1u);
  EXPECT_EQ(holder.machine().NextWake(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace capstan::worker
