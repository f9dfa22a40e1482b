#include "cli/model/staged_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "tests/lib/test_folder.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::Pair;

class StagedFilesTest : public testing::Test {
 protected:
  StagedFilesTest() {
    folder_.Write("marker", "old");
    folder_.Write("other", "old");
    folder_.Write("stale", "old");
  }

  // The files of the folder, by their names.
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path());
      files[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return files;
  }

  const TestFolder folder_;
};

TEST_F(StagedFilesTest, TakeThePlacesOfOlderOnesTogether) {
  StagedFiles files(folder_.path());
  StagedFiles::File& marker = files.Add("marker");
  marker.Write(3, "def", 3);
  marker.Write(0, "abc", 3);
  files.AddText("other", "new");
  ASSERT_EQ(files.Publish("marker", {"stale", "not there"}), absl::OkStatus());
  EXPECT_THAT(Files(), ElementsAre(Pair("marker", "abcdef"), Pair("other", "new")));
}

TEST_F(StagedFilesTest, OneWithoutAMarkerLeavesAllOthersAsTheyWere) {
  StagedFiles files(folder_.path());
  StagedFiles::File& file = files.Add("other");
  file.Write(0, "new", 3);
  EXPECT_EQ(file.status(), absl::OkStatus());
  EXPECT_EQ(Files().at("other"), "old");
  ASSERT_EQ(files.Publish(), absl::OkStatus());
  EXPECT_THAT(Files(),
              ElementsAre(Pair("marker", "old"), Pair("other", "new"), Pair("stale", "old")));
}

TEST_F(StagedFilesTest, AFileThatCannotBeMadeSaysSoAtOnce) {
  StagedFiles files(folder_.Path("nowhere"));
  EXPECT_THAT(std::string(files.Add("other").status().message()),
              testing::StartsWith("writing " + folder_.Path("nowhere") + "/other: "));
}

TEST_F(StagedFilesTest, OneCommandWritesAFileUndisturbedAndAnotherOneIsRefused) {
  auto first = std::make_unique<StagedFiles>(folder_.path());
  StagedFiles::File& file = first->Add("other");
  file.Write(0, "by the first", 12);
  {
    StagedFiles second(folder_.path());
    const absl::Status refused = second.Add("other").status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_EQ(refused.message(),
              "writing " + folder_.Path("other") + ": another command is writing it");
    EXPECT_EQ(second.Publish(), refused);
  }
  EXPECT_EQ(Files().at(".other.unfinished"), "by the first");
  ASSERT_EQ(first->Publish(), absl::OkStatus());
  EXPECT_EQ(Files().at("other"), "by the first");
  // The next one begins its own, which the first leaves alone.
  StagedFiles third(folder_.path());
  third.AddText("other", "next");
  first.reset();
  ASSERT_EQ(third.Publish(), absl::OkStatus());
  EXPECT_EQ(Files().at("other"), "next");
}

TEST_F(StagedFilesTest, WhatACommandThatWasKilledHasLeftIsBegunAnew) {
  folder_.Write(".other.unfinished", "longer than the new one");
  StagedFiles files(folder_.path());
  files.AddText("other", "new");
  ASSERT_EQ(files.Publish(), absl::OkStatus());
  EXPECT_THAT(Files(),
              ElementsAre(Pair("marker", "old"), Pair("other", "new"), Pair("stale", "old")));
}

TEST_F(StagedFilesTest, WhatIsNotPublishedIsRemovedAndWhatWasBeforeStays) {
  const auto before = Files();
  {
    StagedFiles files(folder_.path());
    files.AddText("marker", "new");
    EXPECT_THAT(Files().at("marker"), "old");
  }
  EXPECT_EQ(Files(), before);
}

TEST_F(StagedFilesTest, AFileThatCannotBeWrittenLeavesAllAsItWas) {
  std::filesystem::create_directory(folder_.Path(".other.unfinished"));
  StagedFiles files(folder_.path());
  files.AddText("marker", "new");
  files.AddText("other", "new");
  const absl::Status failed = files.Publish("marker", {"stale", "not there"});
  EXPECT_THAT(std::string(failed.message()),
              testing::StartsWith("writing " + folder_.Path("other") + ": "));
  EXPECT_EQ(Files().at("marker"), "old");
  EXPECT_EQ(Files().at("stale"), "old");
}

TEST_F(StagedFilesTest, TheMarkerIsGoneWhenOneInBetweenFails) {
  std::filesystem::remove(folder_.Path("other"));
  std::filesystem::create_directories(folder_.Path("other/in_the_way"));
  StagedFiles files(folder_.path());
  files.AddText("marker", "new");
  files.AddText("other", "new");
  EXPECT_FALSE(files.Publish("marker", {"stale", "not there"}).ok());
  EXPECT_FALSE(Files().contains("marker"));
  EXPECT_FALSE(Files().contains("stale"));
}

}  // namespace
}  // namespace capstan::cli
