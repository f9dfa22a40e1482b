#include "chief/duties/watch_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// A worker whose data do not come for five seconds is stuck.
class WatchDutyTest : public DutyTest {
 protected:
  explicit WatchDutyTest(uint32_t lanes = 0)
      : DutyTest(CrewOptions{.tasks = 10, .lanes = lanes, .data_stall = 5}) {
    Run(2);
  }

  void AddWorkers(int workers) {
    for (int i = 0; i < workers; ++i) AddWorker(absl::StrCat("w", i));
  }

  WatchDuty duty_{job_, orders_};
};

class LaneWatchDutyTest : public WatchDutyTest {
 protected:
  LaneWatchDutyTest() : WatchDutyTest(/*lanes=*/2) {}
};

TEST_F(WatchDutyTest, AChangeOfTheJobFileIsShownForAsLongAsItIsThereAndLoggedOnce) {
  v1::GetStatusReply status;
  duty_.NoteJobChange("train.epochs is 2, and was 1");
  duty_.NoteJobChange("train.epochs is 2, and was 1");
  EXPECT_THAT(Taken<LogEvent>(), testing::SizeIs(1));
  duty_.Fill(status);
  EXPECT_EQ(status.job_change(), "train.epochs is 2, and was 1");
  duty_.NoteJobChange("");
  EXPECT_THAT(Taken<LogEvent>(), testing::SizeIs(1));
  duty_.Fill(status);
  EXPECT_EQ(status.job_change(), "");
}

TEST_F(WatchDutyTest, ItIsSaidOnWhichDataAWorkerIsStuckUntilItCanReadOn) {
  Worker& a = AddWorker("a");
  a.stuck = true;
  a.report.set_stalled_on("s3://data/1.csv");
  duty_.WatchData();
  EXPECT_THAT(Warning("the data of a"),
              testing::HasSubstr("a has been waiting for s3://data/1.csv for more than 5s"));
  a.stuck = false;
  duty_.WatchData();
  EXPECT_EQ(Warning("the data of a"), "");
}

TEST_F(WatchDutyTest, WorkersForWhomThereIsNoTaskAreToldOfUntilTheJobHasEnded) {
  AddWorkers(10);
  duty_.WatchIdleWorkers();
  EXPECT_EQ(Warning("idle workers"), "");
  AddWorker("one more");
  duty_.WatchIdleWorkers();
  EXPECT_THAT(Warning("idle workers"),
              testing::HasSubstr("11 workers share 10 tasks of an epoch, so 1 of them"));
  job_.Fail(v1::FAILURE_KIND_ERROR, "for another reason");
  duty_.WatchIdleWorkers();
  EXPECT_EQ(Warning("idle workers"), "");
}

TEST_F(WatchDutyTest, ALimitOfOpenFilesThatIsNearlyReachedIsToldOfWithTheCrewUntilAFifthIsFree) {
  AddWorkers(3);
  const auto warning = [this](int64_t open) {
    duty_.WatchOpenFiles(open, /*limit=*/400);  // 300 of them for connections.
    return Warning("open files");
  };
  EXPECT_EQ(warning(270), "");
  EXPECT_EQ(
      warning(271),
      "the chief has 271 files and connections open, and turns connections away above 300: it "
      "may open 400 (ulimit -n), of which it keeps 100 for files, and has one connection with "
      "each of 3 workers and two with each of 2 shards");
  EXPECT_THAT(warning(241), testing::HasSubstr("the chief has 241 files"));
  EXPECT_EQ(warning(240), "");
  EXPECT_EQ(warning(241), "");
  EXPECT_NE(warning(300), "");
  job_.Fail(v1::FAILURE_KIND_ERROR, "for another reason");
  EXPECT_EQ(warning(300), "");
}

TEST_F(WatchDutyTest, AShardThatMayOpenTooFewFilesForTheWorkersThatHaveRegisteredIsToldOf) {
  const auto warning = [this] {
    duty_.WatchOpenFilesOfShards();
    return Warning("open files of shards");
  };
  AddWorkers(24);  // With 32 of its own and two for each of 2 shards it has 60 open.
  EXPECT_EQ(warning(), "") << "nobody has told a limit";
  shard(0).open_files = 1024;
  shard(1).open_files = 88;  // 66 of them for connections.
  EXPECT_EQ(warning(), "");
  AddWorker("one more");
  EXPECT_EQ(warning(),
            "shard 1 may open 88 files and connections (ulimit -n): with each of 25 workers and 2 "
            "shards connected to it, it has about 61 open, and 324 are enough for that");
  shard(0).open_files = 80;
  EXPECT_THAT(warning(), testing::AllOf(testing::StartsWith("shard 0 may open 80 files"),
                                        testing::EndsWith("; of 2 shards the limit is too low")));
  shard(0).open_files = shard(1).open_files = 1'000'000;
  EXPECT_EQ(warning(), "");
  shard(0).open_files = 120;  // 90 of them for connections.
  EXPECT_EQ(warning(), "");
  job_.plan.spec.mutable_sparse_update()->set_kind(v1::POLICY_KIND_SSP);
  job_.plan.spec.mutable_train()->set_compute_threads(16);
  EXPECT_THAT(warning(), testing::HasSubstr("it has about 86 open"))
      << "under ssp eight threads share a connection";
}

TEST_F(LaneWatchDutyTest, WhereWorkersShareLanesTheCureIsMoreLanes) {
  AddWorkers(3);
  duty_.WatchIdleWorkers();
  EXPECT_THAT(Warning("idle workers"),
              testing::AllOf(testing::HasSubstr("3 workers share 2 lanes, so 1 of them"),
                             testing::HasSubstr("(update.*.lanes)")));
}

TEST_F(WatchDutyTest, AShardThatTurnsGradientsAwayIsToldOfWithHowMuchAndForHowLong) {
  const auto hear = [this](uint64_t refused) {
    v1::ShardHeartbeatRequest request;
    v1::MemoryReport& memory = *request.mutable_report()->add_memory();
    memory.set_what("gradients that wait for others");
    memory.set_held(31 << 20);
    memory.set_limit(32 << 20);
    memory.set_refused(refused);
    ShardTable::Hear(shard(1), request, now_);
    duty_.WatchMemory(now_);
  };
  const std::string about = "memory of shard 1: gradients that wait for others";
  hear(0);
  EXPECT_EQ(Warning(about), "");
  now_ += absl::Minutes(1);
  hear(3);
  EXPECT_EQ(Warning(about),
            "shard 1 is full: gradients that wait for others took 31MiB of the 32MiB that they "
            "may, and what has no room is told to come again; `capstan plan` says what the job "
            "needs");
  Taken<LogEvent>();
  now_ += absl::Seconds(5);
  hear(4);
  EXPECT_THAT(Warning(about), testing::HasSubstr("is told to come again, for 5s; `capstan"));
  EXPECT_THAT(Taken<LogEvent>(), testing::IsEmpty()) << "it is logged once";
  now_ += absl::Minutes(1);
  hear(4);
  EXPECT_EQ(Warning(about), "");
  hear(5);
  job_.placement.shards.Forget(1);
  duty_.WatchMemory(now_);
  EXPECT_EQ(Warning(about), "") << "it is gone";
}

TEST_F(WatchDutyTest, AStragglerIsLoggedOnceByItsName) {
  AddWorker("a").trainers[0].step_seconds = 0.1;
  AddWorker("b").trainers[0].step_seconds = 0.1;
  AddWorker("slow").trainers[0].step_seconds = 1;
  for (int second = 1; second <= 20; ++second) {
    duty_.WatchStragglers(now_ + absl::Seconds(second));
  }
  const std::vector<LogEvent> lines = Taken<LogEvent>();
  ASSERT_THAT(lines, testing::SizeIs(1));
  EXPECT_THAT(lines[0].fields, testing::ElementsAre(testing::Pair("worker", "slow")));
}

TEST_F(WatchDutyTest, WhatTheJobWaitsForIsLoggedEveryFiveSeconds) {
  shard(1).gone = true;
  duty_.LogWaiting(now_);
  duty_.LogWaiting(now_ + absl::Seconds(4));
  EXPECT_THAT(Taken<LogEvent>(), testing::IsEmpty());
  duty_.LogWaiting(now_ + absl::Seconds(5));
  const std::vector<LogEvent> lines = Taken<LogEvent>();
  ASSERT_THAT(lines, testing::SizeIs(1));
  EXPECT_THAT(lines[0].fields, testing::ElementsAre(testing::Pair("for", "shard 1")));
  duty_.LogWaiting(now_ + absl::Seconds(9));
  EXPECT_THAT(Taken<LogEvent>(), testing::IsEmpty());
  shard(1).gone = false;
  duty_.LogWaiting(now_ + absl::Seconds(10));
  EXPECT_THAT(Taken<LogEvent>(), testing::IsEmpty()) << "it is back";
}

}  // namespace
}  // namespace capstan::chief
