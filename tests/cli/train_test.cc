#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/cli/command.h"

namespace capstan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kCompleted[] =
    "job: 'demo' state: JOB_STATE_COMPLETED progress: 1 examples: 1000 elapsed_seconds: 2"
    " model_uri: '/m' evaluations { final: true metrics { key: 'auc' value: 0.75 } }";

class TrainTest : public CommandTest {
 protected:
  TrainTest() {
    SetEnvironment("FAKE_CHIEF", kCompleted);
    WriteJob();
  }

  // Waits until the fakes have left `line` in their trace.
  void AwaitTrace(const std::string& line) {
    for (int i = 0; i < 1500 && !absl::StrContains(Trace(), line); ++i) {
      absl::SleepFor(absl::Milliseconds(20));
    }
    ASSERT_THAT(Trace(), HasSubstr(line));
  }
};

TEST_F(TrainTest, EndsWithTheHeldOutMetricsAndTheModel) {
  const Result result = Run({"train", "job.yaml", "--shards", "2", "--workers", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("AUC 0.7500"));
  EXPECT_THAT(result.output, HasSubstr("model     /m"));
  for (const char* name : {"start chief", "start ps-0", "start ps-1", "start worker-0",
                           "start worker-1", "start worker-2"}) {
    EXPECT_THAT(Trace(), HasSubstr(name));
  }
}

TEST_F(TrainTest, StopsTheWorkersBeforeTheShards) {
  Run({"train", "job.yaml", "--shards", "1", "--workers", "1"});
  EXPECT_LT(Trace().find("stop worker-0"), Trace().find("stop ps-0")) << Trace();
}

TEST_F(TrainTest, LeavesTheLogsWhereItSays) {
  const Result result = Run({"train", "job.yaml", "--run-dir", "here"});
  EXPECT_THAT(result.output, HasSubstr(std::filesystem::absolute("here").string()));
  EXPECT_TRUE(std::filesystem::exists("here/chief.log"));
  EXPECT_TRUE(std::filesystem::exists("here/worker-0.log"));
}

TEST_F(TrainTest, GivesASynchronousJobALaneForEachWorker) {
  WriteJob("update: {dense: {policy: sync}, sparse: {policy: sync}}\n");
  Run({"train", "job.yaml", "--workers", "3"});
  EXPECT_THAT(Trace(), HasSubstr("update.dense.lanes=3"));
  EXPECT_THAT(Trace(), HasSubstr("update.sparse.lanes=3"));
}

TEST_F(TrainTest, LeavesTheLanesThatTheJobNames) {
  WriteJob("update: {dense: {policy: sync, lanes: 5}, sparse: {policy: async}}\n");
  Run({"train", "job.yaml", "--workers", "3"});
  EXPECT_THAT(Trace(), HasSubstr("update.dense.lanes=5"));
  EXPECT_THAT(Trace(), Not(HasSubstr("update.sparse.lanes")));
}

TEST_F(TrainTest, KeepsAJobInOnePlaceUnlessTheJobSaysWhere) {
  Run({"train", "job.yaml"});
  EXPECT_THAT(Trace(), HasSubstr("/capstan-runs/jobs"));
}

TEST_F(TrainTest, PutsTheModelIntoTheRunFolderThatIsNamedUnlessTheJobSaysWhere) {
  Run({"train", "job.yaml", "--run-dir", "here"});
  EXPECT_THAT(Trace(), HasSubstr("here/model"));
}

TEST_F(TrainTest, TakesAJobFromItsChiefOnlyWhenToldTo) {
  Run({"train", "job.yaml"});
  EXPECT_THAT(Trace(), Not(HasSubstr("--take-over")));
  Run({"train", "job.yaml", "--take-over"});
  EXPECT_THAT(Trace(), HasSubstr("--take-over"));
}

TEST_F(TrainTest, RefusesABadJobBeforeAnythingStarts) {
  WriteFile("job.yaml", "job: demo\ndata: {format: cvs}\n");
  const Result result = Run({"train", "job.yaml"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, StartsWith("job.yaml:2: data.format"));
  EXPECT_EQ(Trace(), "");
}

TEST_F(TrainTest, TellsWhyTheJobFailed) {
  SetEnvironment("FAKE_CHIEF", "state: JOB_STATE_FAILED reason: 'the loss is NaN'");
  SetEnvironment("FAKE_CHIEF_EXIT", "1");
  const Result result = Run({"train", "job.yaml"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("demo failed: the loss is NaN"));
}

TEST_F(TrainTest, EndsWith2WhenTheDataAreToBlame) {
  SetEnvironment("FAKE_CHIEF",
                 "state: JOB_STATE_FAILED failure_kind: FAILURE_KIND_BAD_INPUT reason: 'a.csv:7'");
  SetEnvironment("FAKE_CHIEF_EXIT", "2");
  EXPECT_EQ(Run({"train", "job.yaml"}).exit_code, 2);
}

TEST_F(TrainTest, ReportsAShardThatDiesAgainAndAgainWithTheLastLinesOfItsLog) {
  SetEnvironment("FAKE_CHIEF", "state: JOB_STATE_RUNNING");
  SetEnvironment("FAKE_PS", "exit 5");
  const Result result = Run({"train", "job.yaml"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("ps-0 died: exit code 5; it is started again"));
  EXPECT_THAT(result.output, HasSubstr("ps-0 died: exit code 5, and so again and again"));
  EXPECT_THAT(result.output, HasSubstr("ps-0 cannot go on: the cause"));
}

TEST_F(TrainTest, SaysFirstWhyItFailedInOneLine) {
  std::filesystem::remove("bin/chief");
  WriteFile("bin/chief",
            "#!/bin/sh\n"
            "echo '2026-11-23T11:32:10.581Z info  chief begins' >&2\n"
            "echo '2026-11-23T11:32:10.582Z error chief /m/file: is no folder' >&2\n"
            "exit 2\n");
  std::filesystem::permissions("bin/chief", std::filesystem::perms::owner_all);
  const Result result = Run({"train", "job.yaml"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("\ncapstan: demo failed: /m/file: is no folder\n"
                                       "capstan: (chief ended with exit code 2 while starting; its "
                                       "log is "));
}

TEST_F(TrainTest, StartsAWorkerThatDiesAgainAndGivesUpInTheEnd) {
  SetEnvironment("FAKE_CHIEF", "state: JOB_STATE_RUNNING");
  SetEnvironment("FAKE_WORKER", "exit 7");
  const Result result = Run({"train", "job.yaml"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("worker-0 died: exit code 7; it is started again"));
  EXPECT_THAT(result.output, HasSubstr("again and again"));
}

TEST_F(TrainTest, DoesNotKeepGoingWithoutAnyWorker) {
  SetEnvironment("FAKE_CHIEF", "state: JOB_STATE_RUNNING");
  const Result result =
      Run({"train", "job.yaml", "--keep-going", "--workers", "2", "--worker", "sh -c 'exit 2'"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("demo failed: worker-"));
}

TEST_F(TrainTest, ProgramsInPythonHaveTheSameHashesInEachProcessUnlessTheUserSaysOtherwise) {
  SetEnvironment("FAKE_CHIEF", "state: JOB_STATE_RUNNING");
  for (const char* seed : {"0", "7"}) {
    const Result result = Run({"train", "job.yaml", "--worker", "sh -c 'exit 1$PYTHONHASHSEED'"});
    EXPECT_THAT(result.output, HasSubstr(absl::StrCat("worker-0 died: exit code 1", seed, ";")));
    SetEnvironment("PYTHONHASHSEED", "7");
  }
}

TEST_F(TrainTest, ThreadsOfProgramsSleepWhileTheyHaveNothingToDoUnlessTheUserSaysOtherwise) {
  SetEnvironment("FAKE_CHIEF", "state: JOB_STATE_RUNNING");
  for (const char* is_another : {"0", "1"}) {
    const Result result =
        Run({"train", "job.yaml", "--worker", "sh -c 'test $OMP_WAIT_POLICY = passive; exit 1$?'"});
    EXPECT_THAT(result.output,
                HasSubstr(absl::StrCat("worker-0 died: exit code 1", is_another, ";")));
    SetEnvironment("OMP_WAIT_POLICY", "active");
  }
}

TEST_F(TrainTest, SaysTheFlagsAgainByWhichAStoppedRunIsStarted) {
  SetEnvironment("FAKE_CHIEF", "state: JOB_STATE_RUNNING");
  Process process = Start({"train", "job.yaml", "--keep-going"});
  AwaitTrace("start worker-0");
  process.Signal(SIGINT);
  EXPECT_THAT(Await(process).output,
              HasSubstr("train job.yaml --shards 1 --workers 1 --keep-going"));
}

TEST_F(TrainTest, StopsEverybodyOnCtrlC) {
  SetEnvironment("FAKE_CHIEF", "state: JOB_STATE_RUNNING");
  Process process = Start({"train", "job.yaml", "--workers", "2"});
  AwaitTrace("start worker-0");
  AwaitTrace("start worker-1");
  AwaitTrace("start ps-0");
  process.Signal(SIGINT);
  const Result result = Await(process);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("demo was stopped before its end"));
  EXPECT_THAT(result.output, HasSubstr("not saved"));  // The fake chief knows no checkpoints.
  EXPECT_THAT(result.output, HasSubstr("bin/capstan train job.yaml --shards 1 --workers 2"));
  for (const char* name : {"stop worker-0", "stop worker-1", "stop ps-0"}) {
    EXPECT_THAT(Trace(), HasSubstr(name));
  }
}

TEST_F(TrainTest, StopsEverybodyWhenTheTerminalIsClosed) {
  signal(SIGHUP, SIG_DFL);  // The tests may run under nohup.
  SetEnvironment("FAKE_CHIEF", "state: JOB_STATE_RUNNING");
  Process process = Start({"train", "job.yaml"});
  AwaitTrace("start worker-0");
  process.Signal(SIGHUP);
  const Result result = Await(process);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("demo was stopped before its end"));
  EXPECT_THAT(Trace(), HasSubstr("stop worker-0"));
}

TEST_F(TrainTest, WhatAScriptOfAWorkerHasStartedEndsWithARunThatIsKilled) {
  SetEnvironment("FAKE_CHIEF", "state: JOB_STATE_RUNNING");
  Process process = Start({"train", "job.yaml", "--worker",
                           "sh -c 'bin/worker --name $CAPSTAN_NAME; echo it has ended'"});
  AwaitTrace("start ps-0");
  AwaitTrace("start worker-0");
  kill(process.pid(), SIGKILL);
  AwaitTrace("stop ps-0");
  AwaitTrace("stop worker-0");
}

TEST_F(TrainTest, KillsWhoDoesNotStop) {
  SetEnvironment("FAKE_WORKER", "deaf");
  const Result result = Run({"train", "job.yaml"});
  EXPECT_THAT(result.output, HasSubstr("worker-0 did not stop in time and was killed"));
}

TEST_F(TrainTest, WritesLinesWithoutATerminal) {
  const Result result = Run({"train", "job.yaml"});
  EXPECT_THAT(result.output, HasSubstr("completed 100.0 %"));
  EXPECT_THAT(result.output, Not(HasSubstr("\x1b")));
}

TEST_F(TrainTest, SaysWhichProgramIsMissing) {
  std::filesystem::remove("bin/ps");
  const Result result = Run({"train", "job.yaml"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("bin/ps"));
}

}  // namespace
}  // namespace capstan::cli
