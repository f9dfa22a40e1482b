// `capstan evaluate` and `capstan predict` on a model as its job begins with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capstan/checkpoint/checkpoint.h"
#include "capstan/config/config.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/model/layout.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/checkpoint/small_partition.h"
#include "tests/unit/cli/commands/run_command.h"

namespace capstan::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr uint32_t kScoredPartitions = 2;

class ScoringCommandsTest : public testing::Test {
 protected:
  ScoringCommandsTest() { WriteModel("model", /*eval_rows=*/20); }

  // A checkpoint of a job of the built-in data, of which it holds out so many records.
  void WriteModel(const std::string& name, int eval_rows) {
    auto loaded = LoadJob(folder_.Write("job.yaml",
                                        "job: scored\n"
                                        "data: {format: synthetic, synthetic: {train_rows: 100, "
                                        "eval_rows: " +
                                            std::to_string(eval_rows) +
                                            "}}\n"
                                            "model: {preset: lr}\n"));
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    v1::JobSpec job = *std::move(loaded);
    job.set_partition_count(kScoredPartitions);
    ASSERT_EQ(DeriveDataSpec(*NewDataFiles(), *job.mutable_data()), absl::OkStatus());
    ASSERT_EQ(LayOutModel(job), absl::OkStatus());
    std::filesystem::create_directory(folder_.Path(name));
    const auto store = *OpenObjectStore(folder_.Path(name));
    v1::Manifest manifest;
    manifest.set_id("1-a");
    *manifest.mutable_job() = job;
    for (uint32_t i = 0; i < kScoredPartitions; ++i) {
      const auto partition =
          *PartitionStore::Create(job, LayoutOf(job), static_cast<PartitionIndex>(i));
      *manifest.add_files() =
          PutPartial(*store, partition->partition(),
                     EncodePartition(*partition, {.partition_count = kScoredPartitions}), 0);
    }
    ASSERT_EQ(WriteManifest(*store, manifest), absl::OkStatus());
  }

  CommandResult Predict(const std::vector<std::string>& more, const std::string& model = "model") {
    std::vector<std::string> words = {"predict", folder_.Path(model)};
    words.insert(words.end(), more.begin(), more.end());
    return RunCommand(AddPredict, words);
  }
  CommandResult EvaluateModel(const std::vector<std::string>& more,
                              const std::string& model = "model") {
    std::vector<std::string> words = {"evaluate", folder_.Path(model)};
    words.insert(words.end(), more.begin(), more.end());
    return RunCommand(AddEvaluate, words);
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(folder_.Path(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  const TestFolder folder_;
};

TEST_F(ScoringCommandsTest, EachRecordThatIsHeldOutHasALine) {
  const CommandResult result = Predict({});
  ASSERT_EQ(result.exit_code, kDone) << result.errors;
  EXPECT_EQ(std::ranges::count(result.output, '\n'), 20);
  EXPECT_EQ(result.errors, "");
}

TEST_F(ScoringCommandsTest, AFileIsReplacedOnlyByAllScores) {
  const std::string scores = Predict({}).output;
  const std::string file = folder_.Write("scores", "old");
  ASSERT_EQ(Predict({"--output", file}).exit_code, kDone);
  EXPECT_EQ(Read("scores"), scores);
  folder_.Write("bad.csv", "no record\n");
  EXPECT_EQ(Predict({folder_.Path("bad.csv"), "--output", file}).exit_code, kBadInput);
  EXPECT_EQ(Read("scores"), scores) << "the old file stays";
}

TEST_F(ScoringCommandsTest, ALinkStaysAndWhatItLeadsToIsReplaced) {
  folder_.Write("target", "old");
  std::filesystem::create_symlink("target", folder_.Path("link"));
  ASSERT_EQ(Predict({"--output", folder_.Path("link")}).exit_code, kDone);
  EXPECT_TRUE(std::filesystem::is_symlink(folder_.Path("link")));
  EXPECT_EQ(Read("target"), Predict({}).output);
}

TEST_F(ScoringCommandsTest, ADeviceIsWrittenDirectlyAndSaysWhenItTakesNothing) {
  EXPECT_EQ(Predict({"--output", "/dev/null"}).exit_code, kDone);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const CommandResult full = Predict({"--output", "/dev/full"});
  EXPECT_EQ(full.exit_code, kFailed);
  EXPECT_THAT(full.errors, AllOf(StartsWith("capstan: "), HasSubstr("writing scores")));
}

TEST_F(ScoringCommandsTest, AFolderThatIsNotThereIsNamed) {
  const CommandResult result = Predict({"--output", folder_.Path("none/scores")});
  EXPECT_NE(result.exit_code, kDone);
  EXPECT_THAT(result.errors, HasSubstr("none/scores"));
}

TEST_F(ScoringCommandsTest, TheMetricsOfWhatIsHeldOutAreTold) {
  const CommandResult result = EvaluateModel({});
  ASSERT_EQ(result.exit_code, kDone) << result.errors;
  EXPECT_THAT(result.output, AllOf(StartsWith("20 examples  "), HasSubstr("logloss ")));
}

TEST_F(ScoringCommandsTest, WhereNothingIsHeldOutFilesAreWanted) {
  WriteModel("all_trained", /*eval_rows=*/0);
  for (const bool predicts : {true, false}) {
    const CommandResult result =
        predicts ? Predict({}, "all_trained") : EvaluateModel({}, "all_trained");
    EXPECT_EQ(result.exit_code, kBadInput);
    EXPECT_THAT(result.errors, HasSubstr(predicts ? "nothing to predict: the job has no eval data; "
                                                    "expected FILEs in its format"
                                                  : "nothing to evaluate: "));
  }
}

TEST_F(ScoringCommandsTest, AFileOfSomethingElseIsRefusedAndNamed) {
  const std::string bad = folder_.Write("bad.csv", "no record\n");
  for (const CommandResult& result : {Predict({bad}), EvaluateModel({bad})}) {
    EXPECT_EQ(result.exit_code, kBadInput);
    EXPECT_THAT(result.errors, HasSubstr("bad.csv"));
    EXPECT_EQ(result.output, "");
  }
}

TEST_F(ScoringCommandsTest, AFolderWithoutAModelIsRefused) {
  for (const CommandResult& result : {Predict({}, "nowhere"), EvaluateModel({}, "nowhere")}) {
    EXPECT_EQ(result.exit_code, kBadInput);
    EXPECT_THAT(result.errors, HasSubstr("nowhere"));
  }
}

}  // namespace
}  // namespace capstan::cli
