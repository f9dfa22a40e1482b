// How a run ends whose processes are scripts. tests/cli/train_test.cc has the whole command.
#include "cli/commands/train_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/cli/commands/crew_of_scripts.h"

namespace capstan::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int kNobodyListens = 1;

class TrainRunTest : public testing::Test {
 protected:
  TrainRunTest() {
    options_.job = WriteJob("model: {preset: lr}\n");
    options_.run_folder = crew_.folder().Path("run");
    options_.programs = crew_.path();
    options_.plain = true;
  }

  std::string WriteJob(const std::string& rest) const {
    return crew_.folder().Write("job.yaml",
                                "job: demo\n"
                                "data: {format: synthetic, synthetic: {train_rows: 1000}}\n" +
                                    rest);
  }
  ExitCode Run() {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const ExitCode code = Train(options_);
    output_ = testing::internal::GetCapturedStdout();
    errors_ = testing::internal::GetCapturedStderr();
    return code;
  }

  const CrewOfScripts crew_;
  TrainOptions options_;
  std::string output_;
  std::string errors_;
};

TEST_F(TrainRunTest, AJobWithAMistakeIsRefusedBeforeAnythingIsStarted) {
  crew_.WriteChief(kNobodyListens, "exit 0");
  WriteJob("model: {preset: none}\n");
  EXPECT_EQ(Run(), kBadInput);
  EXPECT_THAT(errors_, HasSubstr("job.yaml:3: "));
  EXPECT_EQ(crew_.Trace(), "");
}

TEST_F(TrainRunTest, AJobOfAProgramNeedsTheCommandOfItsWorkers) {
  crew_.WriteChief(kNobodyListens, "exit 0");
  WriteJob("model: {user: deepfm.py}\n");
  EXPECT_EQ(Run(), kBadInput);
  EXPECT_THAT(errors_, HasSubstr("this job is computed by deepfm.py; say how its workers are "
                                 "started: --worker 'python3 deepfm.py'"));
  EXPECT_EQ(crew_.Trace(), "");
}

TEST_F(TrainRunTest, AModelToBeginWithHasToBeThere) {
  crew_.WriteChief(kNobodyListens, "exit 0");
  options_.from = crew_.folder().Path("no_model");
  EXPECT_EQ(Run(), kBadInput);
  EXPECT_THAT(errors_, HasSubstr("no_model"));
  EXPECT_EQ(crew_.Trace(), "");
}

TEST_F(TrainRunTest, AChiefThatCannotStartSaysWhyAndWhetherTheInputIsToBlame) {
  crew_.Write("chief", LogError("the data do not fit") + "exit 2");
  EXPECT_EQ(Run(), kBadInput);
  EXPECT_THAT(errors_, AllOf(HasSubstr("demo failed: the data do not fit"),
                             HasSubstr("ended with exit code 2 while starting; its log is ")));
  options_.run_folder = crew_.folder().Path("second");
  crew_.Write("chief", "echo 'some other line' >&2\nexit 1");
  EXPECT_EQ(Run(), kFailed);
  EXPECT_THAT(errors_, AllOf(HasSubstr("demo failed: chief ended with exit code 1 while starting"),
                             HasSubstr("some other line")))
      << "without an error the last lines are told";
}

TEST_F(TrainRunTest, AChiefThatEndsBeforeItIsAskedDecidesTheExitCode) {
  for (const int code : {0, 1, 2, 7}) {
    crew_.WriteChief(kNobodyListens,
                     LogError("last words") + "sleep 0.3\nexit " + std::to_string(code));
    const ExitCode expected = code == 0 ? kDone : code == 2 ? kBadInput : kFailed;
    EXPECT_EQ(Run(), expected) << code;
    if (code == 0) continue;
    EXPECT_THAT(errors_, AllOf(HasSubstr("demo failed: last words"),
                               HasSubstr("(the chief ended before the job did; its log is ")));
  }
}

TEST_F(TrainRunTest, AWorkerThatTheJobRefusesEndsTheRun) {
  crew_.WriteChief(kNobodyListens, "exec sleep 600");
  WriteJob("model: {user: deepfm.py}\n");
  options_.worker = "sh -c 'exit 2'";
  EXPECT_EQ(Run(), kFailed);
  EXPECT_THAT(errors_, HasSubstr("demo failed: worker-0 died: exit code 2"));
}

TEST_F(TrainRunTest, WhatTheJobLeavesOpenTheRunDecides) {
  crew_.WriteChief(kNobodyListens, "sleep 0.3\nexit 0");
  WriteJob(
      "model: {preset: lr}\n"
      "update: {dense: {policy: sync}, sparse: {policy: async}}\n");
  options_.workers = 3;
  options_.overrides = {"train.epochs=2"};
  EXPECT_EQ(Run(), kDone);
  EXPECT_THAT(crew_.Trace(),
              AllOf(HasSubstr("--set train.epochs=2 --set checkpoint.uri="),
                    HasSubstr("update.dense.lanes=3"), Not(HasSubstr("update.sparse.lanes"))));
  EXPECT_THAT(output_, HasSubstr("demo: shards 1, workers 3; logs in "));
  options_.overrides = {"checkpoint.uri=" + crew_.folder().Path("kept")};
  EXPECT_EQ(Run(), kDone);
  EXPECT_THAT(crew_.Trace().substr(crew_.Trace().rfind("chief --")), Not(HasSubstr("run/jobs")))
      << "the job says where it is kept";
}

}  // namespace
}  // namespace capstan::cli
