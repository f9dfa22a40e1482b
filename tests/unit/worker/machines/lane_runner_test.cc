#include "worker/machines/lane_runner.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/worker/machines/testing.h"

namespace capstan::worker {
namespace {

using Opened = v1::OpenRoundReply;
using Reported = v1::ReportLaneReply;

LaneLease LeaseOfLane() {
  LaneLease lease;
  lease.options.generation = {1, 7};
  lease.options.shards = {kShard0, kShard1};
  lease.lane = LaneIndex{3};
  return lease;
}

void OpenRound(Driver& runner, uint64_t round, uint64_t cursor) {
  OpenDone done;
  done.ticket = runner.Take<SendOpen>().ticket;
  done.answer = Opened::ANSWER_OPEN;
  done.round = round;
  done.closed = {round - 1, {}};
  done.cursor = cursor;
  runner.Feed(done);
}

void Answer(Driver& runner, Reported::Answer answer) {
  runner.Feed(ReportDone{runner.Take<SendReport>().ticket, {}, answer});
}

// From an open round to the report of its gradient.
void Stage(Driver& runner, uint64_t length) {
  runner.Read(length);
  runner.Pull();
  runner.ComputeAll();
  runner.Push();
}

TEST(LaneRunnerTest, OffersTheBatchesOfItsLaneRoundAfterRound) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  for (uint64_t round = 1; round <= 2; ++round) {
    OpenRound(runner, round, /*cursor=*/round - 1);
    Stage(runner, /*length=*/2);
    Answer(runner, Reported::ANSWER_COUNTED);
  }
  OpenRound(runner, 3, 2);
  runner.Read(2);
  const SendReport end = runner.Take<SendReport>();
  EXPECT_TRUE(end.end_of_data);
  runner.Feed(ReportDone{end.ticket, {}, Reported::ANSWER_COUNTED});
  EXPECT_EQ(runner.Take<Finished>().why, Finished::Why::kDone);
  EXPECT_EQ(runner.progress().batches_done, 2u);
  EXPECT_EQ(runner.progress().examples, 8u);
}

TEST(LaneRunnerTest, EveryRequestOfARoundCarriesTheRoundCommitOfWhichThereIsOne) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  OpenRound(runner, 5, 0);
  runner.Read(9);
  const std::vector<SendPull> pulls = runner.TakeAll<SendPull>();
  EXPECT_EQ(pulls.at(0).lane->round, 5u);
  const std::shared_ptr<const RoundCommit> closed = pulls.at(0).lane->closed;
  EXPECT_EQ(closed->round, 4u);
  for (const SendPull& pull : pulls) runner.Feed(PullDone{pull.ticket, {}, {}});
  runner.ComputeAll();
  const std::vector<SendPush> stages = runner.TakeAll<SendPush>();
  ASSERT_EQ(stages.size(), 2u);
  for (const SendPush& stage : stages) EXPECT_EQ(stage.stage->closed, closed);
  EXPECT_FALSE(stages[1].stream.has_value());
}

TEST(LaneRunnerTest, StagesOnEveryShardBeforeItReports) {
  LaneLease lease = LeaseOfLane();
  lease.options.shards = {kShard0, kShard1, kShard2};
  Driver runner(NewLaneRunner(lease));
  OpenRound(runner, 1, 0);
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  const std::vector<SendPush> stages = runner.TakeAll<SendPush>();
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_TRUE(stages[2].empty);
  runner.Feed(PushDone{stages[0].ticket, {}, {}, {}});
  runner.Feed(PushDone{stages[1].ticket, {}, {}, {}});
  EXPECT_TRUE(runner.TakeAll<SendReport>().empty());
  runner.Feed(PushDone{stages[2].ticket, {}, {}, {}});
  EXPECT_EQ(runner.Take<SendReport>().examples, 4u);
}

TEST(LaneRunnerTest, WhereTheMapChangesEachCallIsMadeAgainAlsoToTheCoordinator) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  const SendOpen asked = runner.Take<SendOpen>();
  runner.Feed(Moved({kShard0, kShard1, kShard2}, 0, {kShard2}));
  const SendOpen again = runner.Take<SendOpen>();
  OpenDone old{.ticket = asked.ticket, .status = absl::UnavailableError("not the coordinator")};
  runner.Feed(old);
  EXPECT_TRUE(runner.TakeAll<SendOpen>().empty()) << "that answer means nothing";
  OpenDone opened{.ticket = again.ticket, .answer = Opened::ANSWER_OPEN, .round = 1};
  runner.Feed(opened);
  runner.Read(9);

  EXPECT_EQ(runner.TakeAll<SendPull>().size(), 2u);
  runner.Feed(Moved({kShard0, kShard1, kShard2}, 0, {kShard2}));
  const SendPull pull = runner.Take<SendPull>();
  EXPECT_EQ(pull.shard, kShard2);
  runner.Feed(PullDone{pull.ticket, {}, {}});
  runner.ComputeAll();

  EXPECT_EQ(runner.TakeAll<SendPush>().size(), 3u);
  runner.Feed(Moved({kShard0, kShard2}, 0, {kShard0}));
  const std::vector<SendPush> stages = runner.TakeAll<SendPush>();
  ASSERT_EQ(stages.size(), 2u) << "on every shard that there is";
  EXPECT_FALSE(stages[0].empty);
  EXPECT_TRUE(stages[1].empty);
  for (const SendPush& stage : stages) runner.Feed(PushDone{stage.ticket, {}, {}, {}});

  const SendReport report = runner.Take<SendReport>();
  runner.Feed(Moved({kShard0, kShard2}, 0, {kShard2}));
  EXPECT_NE(runner.Take<SendReport>().ticket, report.ticket);
}

TEST(LaneRunnerTest, AShardThatJoinsInTheMiddleOfARoundIsStagedOnAndOneThatHasLeftIsNot) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  OpenRound(runner, 1, 0);
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  const std::vector<SendPush> stages = runner.TakeAll<SendPush>();
  ASSERT_EQ(stages.size(), 2u);
  runner.Feed(PushDone{stages[0].ticket, {}, {}, {}});
  runner.Feed(ViewOf({kShard0, kShard2}));
  const SendPush joined = runner.Take<SendPush>();
  EXPECT_EQ(joined.shard, kShard2);
  runner.Feed(PushDone{joined.ticket, {}, {}, {}});
  EXPECT_EQ(runner.Take<SendReport>().round, 1u);
}

TEST(LaneRunnerTest, WhatCameTooLateIsComputedAgainInTheNextRound) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  OpenRound(runner, 1, 0);
  Stage(runner, 9);
  Answer(runner, Reported::ANSWER_LATE);
  OpenRound(runner, 2, /*cursor=*/0);
  EXPECT_TRUE(runner.TakeAll<ReadBatch>().size() <= 1) << "the batch itself is still there";
  runner.Pull();
  EXPECT_EQ(runner.Take<Compute>().batch, 0u);
  EXPECT_EQ(runner.progress().late, 1u);
  EXPECT_EQ(runner.progress().batches_done, 0u);
}

TEST(LaneRunnerTest, ARoundThatIsOverIsLeftAtOnce) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  OpenRound(runner, 1, 0);
  runner.Read(9);
  runner.Feed(PullDone{runner.TakeAll<SendPull>()[0].ticket, absl::AbortedError("closed"), {}});
  OpenRound(runner, 2, 0);
  EXPECT_EQ(runner.TakeAll<SendPull>().at(0).lane->round, 2u);
}

TEST(LaneRunnerTest, ALostAnswerToAReportIsLearntFromTheCursor) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  OpenRound(runner, 1, 0);
  Stage(runner, 9);
  Answer(runner, Reported::ANSWER_LATE);  // Of a coordinator that had counted it and gone on.
  OpenRound(runner, 3, /*cursor=*/1);
  EXPECT_EQ(runner.progress().examples, 4u);
  EXPECT_EQ(runner.progress().late, 0u);
}

TEST(LaneRunnerTest, ARoundSeesOneComputationOfALane) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  OpenRound(runner, 1, 0);
  Stage(runner, 9);
  Answer(runner, Reported::ANSWER_LATE);
  OpenRound(runner, 1, 0);  // Not over after all.
  runner.Wake();            // Not at once.
  OpenRound(runner, 1, 0);
  EXPECT_TRUE(runner.TakeAll<Compute>().empty());
  EXPECT_EQ(runner.Take<SendReport>().round, 1u);
}

TEST(LaneRunnerTest, ALaterGenerationEndsTheLease) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  OpenDone done;
  done.ticket = runner.Take<SendOpen>().ticket;
  done.answer = Opened::ANSWER_OLD_GENERATION;
  runner.Feed(done);
  EXPECT_EQ(runner.Take<Finished>().why, Finished::Why::kLost);
}

TEST(LaneRunnerTest, AStepWithoutAFiniteGradientIsStagedEmptyAndWeighsNothing) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  OpenRound(runner, 1, 0);
  runner.Read(9);
  runner.Pull();
  runner.Feed(Computed{runner.Take<Compute>().batch, 1, /*nonfinite=*/true});
  const std::vector<SendPush> stages = runner.TakeAll<SendPush>();
  EXPECT_TRUE(stages.at(0).empty && stages.at(1).empty);
  for (const SendPush& push : stages) runner.Feed(PushDone{push.ticket, {}, {}, {}});
  EXPECT_EQ(runner.Take<SendReport>().examples, 0u);
}

TEST(LaneRunnerTest, DrainedItFinishesTheRoundThatItComputes) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  OpenRound(runner, 1, 0);
  runner.Read(9);
  runner.Pull();
  runner.Feed(Drain{runner.now + absl::Seconds(4)});
  runner.ComputeAll();
  runner.Push();
  Answer(runner, Reported::ANSWER_COUNTED);
  EXPECT_EQ(runner.Take<Finished>().why, Finished::Why::kReturned);
  EXPECT_EQ(runner.progress().batches_done, 1u);
}

TEST(LaneRunnerTest, InTheHybridAPushHasBothNames) {
  LaneLease lease = LeaseOfLane();
  lease.has_stream = true;
  Driver runner(NewLaneRunner(lease));
  OpenRound(runner, 1, 0);
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  const SendPush push = runner.TakeAll<SendPush>()[0];
  EXPECT_EQ(push.stage->lane, LaneIndex{3});
  EXPECT_EQ(push.stream->stream, StreamId{77});
  EXPECT_EQ(push.stream->low_watermark, push.stream->seq);
}

TEST(LaneRunnerTest, ARunnerThatWaitsForTheNextRoundTellsThatTheOnesBeforeAreOver) {
  LaneLease lease = LeaseOfLane();
  lease.options.ssp = true;
  Driver runner(NewLaneRunner(lease));
  OpenDone wait;
  wait.ticket = runner.Take<SendOpen>().ticket;
  wait.answer = Opened::ANSWER_WAIT;
  wait.round = 4;
  runner.Feed(wait);
  const std::vector<SendClock> clocks = runner.TakeAll<SendClock>();
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_EQ(clocks[0].clock, 3u);
  EXPECT_EQ(clocks[0].stage->lane, LaneIndex{3}) << "a shard takes it under a lease alone";
  EXPECT_EQ(clocks[0].stage->generation, lease.options.generation);
  EXPECT_EQ(clocks[0].stage->round, 0u);
}

TEST(LaneRunnerTest, SaysWhetherTheOpenRoundCountsTheLaneThatAsksForTheNext) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  const SendOpen first = runner.Take<SendOpen>();
  EXPECT_FALSE(first.counted) << "it is new, and is told at once where it stands";
  runner.Feed(OpenDone{.ticket = first.ticket, .answer = Opened::ANSWER_OPEN, .round = 1});
  Stage(runner, 9);
  Answer(runner, Reported::ANSWER_COUNTED);
  const SendOpen next = runner.Take<SendOpen>();
  EXPECT_TRUE(next.counted);
  runner.Feed(Moved({kShard0, kShard1, kShard2}, 0, {kShard2}));
  const SendOpen again = runner.Take<SendOpen>();
  EXPECT_FALSE(again.counted) << "the coordinator may be another, and know less";
  runner.Feed(
      OpenDone{.ticket = again.ticket, .answer = Opened::ANSWER_OPEN, .round = 2, .cursor = 1});
  Stage(runner, 9);
  Answer(runner, Reported::ANSWER_LATE);
  EXPECT_FALSE(runner.Take<SendOpen>().counted);
}

TEST(LaneRunnerTest, ALaneThatIsToldToWaitIsCountedByTheOpenRound) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  runner.Feed(OpenDone{
      .ticket = runner.Take<SendOpen>().ticket, .answer = Opened::ANSWER_WAIT, .round = 4});
  runner.Wake();
  EXPECT_TRUE(runner.Take<SendOpen>().counted);
}

TEST(LaneRunnerTest, CallsOfAStageThatIsOverWakeNobody) {
  Driver runner(NewLaneRunner(LeaseOfLane()));
  OpenRound(runner, 1, 0);
  runner.Read(9);
  runner.Pull();
  runner.ComputeAll();
  const std::vector<SendPush> stages = runner.TakeAll<SendPush>();
  runner.Feed(PushDone{stages[0].ticket, absl::UnavailableError("away"), {}, {}});
  OutcomeSummary over;
  over.Count(v1::OUTCOME_WRONG_ROUND);
  runner.Feed(PushDone{stages[1].ticket, {}, over, {}});
  EXPECT_EQ(runner.TakeAll<SendOpen>().size(), 1u);
  EXPECT_EQ(runner.machine().NextWake(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace capstan::worker
