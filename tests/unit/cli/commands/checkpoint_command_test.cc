// `capstan checkpoint` on checkpoints of a small job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/cli/commands/run_command.h"
#include "tests/unit/cli/model/small_checkpoints.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CheckpointCommandTest : public SmallCheckpoints {
 protected:
  CommandResult Checkpoint(std::vector<std::string> words) const {
    words.insert(words.begin(), "checkpoint");
    return RunCommand(AddCheckpoint, words);
  }

  bool IsThere(const std::string& id) const {
    return std::filesystem::exists(Uri(id) + "/MANIFEST.json");
  }

  // Changes a byte in the middle of the largest file of a checkpoint.
  void Damage(const std::string& id) const {
    std::filesystem::path largest;
    uintmax_t size = 0;
    for (const auto& entry : std::filesystem::directory_iterator(Uri(id))) {
      if (entry.path().extension() != ".capstan" || entry.file_size() <= size) continue;
      largest = entry.path();
      size = entry.file_size();
    }
    ASSERT_GT(size, 0u);
    std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(size / 2));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(size / 2));
    file.put(static_cast<char>(byte ^ 1));
  }
};

TEST_F(CheckpointCommandTest, AWholeCheckpointIsToldAndOneWithAChangedByteIsNot) {
  const CommandResult whole = Checkpoint({"verify", Uri("1-a")});
  EXPECT_EQ(whole.exit_code, kDone) << whole.errors;
  EXPECT_THAT(whole.output, StartsWith("whole: 2 partitions, 20 rows, "));
  EXPECT_EQ(whole.errors, "");
  Damage("1-a");
  const CommandResult damaged = Checkpoint({"verify", Uri("1-a")});
  EXPECT_EQ(damaged.exit_code, kFailed) << "which is no bad input";
  EXPECT_EQ(damaged.output, "");
  EXPECT_THAT(damaged.errors, HasSubstr("1-a: "));
  EXPECT_THAT(damaged.errors, HasSubstr(" of 2 partitions are damaged\n"));
}

TEST_F(CheckpointCommandTest, WhoVerifiesAFolderIsToldOfTheDamagedBesideTheNewest) {
  Write("2-b");
  EXPECT_EQ(Checkpoint({"verify", folder_.path()}).exit_code, kBadInput)
      << "no folder of a job or of its checkpoints";
  const std::string job = Uri("job");
  std::filesystem::create_directories(job + "/checkpoints");
  for (const char* id : {"1-a", "2-b"}) {
    std::filesystem::rename(Uri(id), job + "/checkpoints/" + id);
  }
  const CommandResult all = Checkpoint({"verify", job});
  EXPECT_EQ(all.exit_code, kDone) << all.errors;
  EXPECT_THAT(all.errors, StartsWith("capstan: taking the model " + job + "/checkpoints/"));
  std::ofstream(job + "/checkpoints/1-a/MANIFEST.json") << "{";
  const CommandResult one = Checkpoint({"verify", job});
  EXPECT_EQ(one.exit_code, kFailed);
  EXPECT_THAT(one.errors, HasSubstr("damaged: 1-a ("));
  EXPECT_THAT(one.errors, HasSubstr("2-b is whole, 1 beside it is damaged"));
}

TEST_F(CheckpointCommandTest, NothingIsDeletedThatWasNotToldAndAskedForTwice) {
  Write("2-b");
  const CommandResult told = Checkpoint({"prune", folder_.path(), "--keep", "1"});
  EXPECT_EQ(told.exit_code, kDone) << told.errors;
  EXPECT_THAT(told.output, HasSubstr("1 of 2 checkpoints to delete"));
  EXPECT_THAT(told.output, HasSubstr("(--yes deletes them)"));
  EXPECT_THAT(told.output, HasSubstr("no job's state"));
  EXPECT_TRUE(IsThere("1-a") && IsThere("2-b"));
  const CommandResult done = Checkpoint({"prune", folder_.path(), "--keep", "1", "--yes"});
  EXPECT_EQ(done.exit_code, kDone) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("deleted "));
  EXPECT_NE(IsThere("1-a"), IsThere("2-b"));
  const CommandResult again = Checkpoint({"prune", folder_.path(), "--keep", "1", "--yes"});
  EXPECT_THAT(again.output, HasSubstr("0 of 1 checkpoints to delete"));
  EXPECT_THAT(again.output, Not(HasSubstr("--yes")));
}

TEST_F(CheckpointCommandTest, AnExemptCheckpointStaysAlsoIfItsZerosAreLeftOut) {
  Write("0000000002-b");
  for (const char* id : {"2-b", "0000000002-b"}) {
    const CommandResult result = Checkpoint(
        {"prune", folder_.path(), "--keep", "1", "--yes", "--exempt", "1-a", "--exempt", id});
    EXPECT_EQ(result.exit_code, kDone) << result.errors;
    EXPECT_THAT(result.output, HasSubstr("0 of 2 checkpoints to delete"));
  }
  const CommandResult unknown = Checkpoint({"prune", folder_.path(), "--yes", "--exempt", "3-c"});
  EXPECT_EQ(unknown.exit_code, kBadInput);
  EXPECT_THAT(unknown.errors, HasSubstr("--exempt 3-c: there is no such checkpoint; there are "));
  EXPECT_THAT(unknown.errors, HasSubstr("1-a"));
  EXPECT_THAT(unknown.errors, HasSubstr("0000000002-b"));
}

TEST_F(CheckpointCommandTest, ToKeepNoneIsRefused) {
  EXPECT_EQ(Checkpoint({"prune", folder_.path(), "--keep", "0", "--yes"}).errors,
            "capstan: --keep: at least 1\n");
  EXPECT_EQ(Checkpoint({"prune", folder_.path(), "--keep", "-1", "--yes"}).exit_code, kBadInput);
  EXPECT_TRUE(IsThere("1-a"));
}

TEST_F(CheckpointCommandTest, ACompactCheckpointHasANameOfItsOwnOrTheOneThatIsSaid) {
  const CommandResult full = Checkpoint({"compact", Uri("1-a")});
  EXPECT_EQ(full.exit_code, kDone) << full.errors;
  EXPECT_EQ(full.output, Uri("1-a-full") + "\n");
  EXPECT_TRUE(IsThere("1-a-full"));
  EXPECT_EQ(Checkpoint({"compact", Uri("1-a"), "--id", "7-x"}).output, Uri("7-x") + "\n");
  EXPECT_EQ(Checkpoint({"compact", Uri("1-a"), "--id", "../x"}).exit_code, kBadInput);
  EXPECT_THAT(Checkpoint({"diff", Uri("1-a"), Uri("7-x")}).output, HasSubstr("table1"));
}

TEST_F(CheckpointCommandTest, AnExportSaysWhatItHasWrittenWhere) {
  const CommandResult result = Checkpoint({"export", Uri("1-a"), Uri("model")});
  EXPECT_EQ(result.exit_code, kDone) << result.errors;
  EXPECT_THAT(result.output, StartsWith("20 rows, "));
  EXPECT_THAT(result.output, HasSubstr(" in " + Uri("model") + "/model.safetensors\n"));
}

TEST_F(CheckpointCommandTest, AFolderWithoutCheckpointsIsBadInput) {
  std::filesystem::create_directory(Uri("empty"));
  for (const char* verb : {"list", "show", "verify", "prune", "compact"}) {
    const CommandResult result = Checkpoint({verb, Uri("empty")});
    EXPECT_EQ(result.exit_code, kBadInput) << verb << result.output;
    EXPECT_THAT(result.errors, HasSubstr(Uri("empty"))) << verb;
  }
}

}  // namespace
}  // namespace capstan::cli
