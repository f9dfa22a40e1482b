// What a crew of scripts is told when it is measured, and why it cannot be. run_meter_test.cc has
// what is derived of one that trains.
#include "cli/commands/measure_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "capstan/config/config.h"
#include "tests/unit/cli/commands/crew_of_scripts.h"

namespace capstan::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int kSilentPort = 1;  // Nobody listens there.

class MeasureJobTest : public testing::Test {
 protected:
  // Measures a job of the built-in data with these further lines.
  absl::Status Measure(const std::string& rest = "") {
    options_.job = crew_.folder().Write(
        "job.yaml",
        "job: demo\n"
        "data: {format: synthetic, synthetic: {train_rows: 1000, eval_rows: 10}}\n"
        "model: {preset: lr}\n" +
            rest);
    options_.programs = crew_.path();
    const auto job = LoadJob(options_.job, {.default_lanes = 9});
    if (!job.ok()) return job.status();
    return MeasureJob(options_, *job).status();
  }
  // The folder in which the crew was to keep its checkpoints.
  std::string FolderOfRun() const {
    const std::string trace = crew_.Trace();
    const std::string set = "checkpoint.uri=";
    const size_t at = trace.find(set) + set.size();
    return trace.substr(at, trace.find(' ', at) - at);
  }

  const CrewOfScripts crew_;
  MeasureOptions options_;
};

TEST_F(MeasureJobTest, AChiefThatCannotStartSaysWhyInItsLastError) {
  crew_.Write("chief", LogError("the data do not fit") + "exit 2");
  EXPECT_EQ(Measure(), absl::AbortedError("--measure: demo: the data do not fit"));
  crew_.Write("chief", "exit 3");
  EXPECT_EQ(Measure(), absl::AbortedError("--measure: demo: chief ended with exit code 3 while "
                                          "starting"));
}

TEST_F(MeasureJobTest, AChiefThatEndsByItselfWasNotMeasured) {
  crew_.WriteChief(kSilentPort, "sleep 0.3\nexit 0");
  EXPECT_EQ(Measure(), absl::AbortedError("--measure: demo: its chief has ended"));
}

TEST_F(MeasureJobTest, AWorkerThatTheJobRefusesSaysSo) {
  crew_.WriteChief(kSilentPort, "exec sleep 600");
  options_.worker = "sh -c 'exit 2'";
  EXPECT_EQ(Measure(), absl::AbortedError("--measure: demo: worker-0 died: exit code 2"));
}

TEST_F(MeasureJobTest, TheJobNeverEndsAndDoesNothingButTrain) {
  crew_.WriteChief(kSilentPort, "sleep 0.3\nexit 0");
  options_.overrides = {"train.batch_size=64"};
  EXPECT_FALSE(Measure("checkpoint: {uri: /models/kept}\n"
                       "update: {dense: {policy: async}, sparse: {policy: async}}\n")
                   .ok());
  EXPECT_THAT(crew_.Trace(),
              AllOf(HasSubstr("--shards 1 "), HasSubstr("--set train.batch_size=64 "),
                    HasSubstr("--set checkpoint.every=0s "), HasSubstr("--set train.epochs=1000 "),
                    HasSubstr("--set train.evaluate_every_examples=1000000000000")));
  EXPECT_THAT(crew_.Trace(), AllOf(Not(HasSubstr("/models/kept")), Not(HasSubstr("lanes"))));
  EXPECT_NE(FolderOfRun(), "");
  EXPECT_FALSE(std::filesystem::exists(FolderOfRun())) << "the trained model is thrown away";
}

TEST_F(MeasureJobTest, OfManyLanesOneWorkerHoldsAFew) {
  crew_.WriteChief(kSilentPort, "sleep 0.3\nexit 0");
  EXPECT_FALSE(
      Measure("update: {dense: {policy: sync, lanes: 9}, sparse: {policy: async}}\n").ok());
  EXPECT_THAT(crew_.Trace(),
              AllOf(HasSubstr("update.dense.lanes=4"), HasSubstr("update.dense.backup_workers=0"),
                    Not(HasSubstr("update.sparse"))));
}

}  // namespace
}  // namespace capstan::cli
