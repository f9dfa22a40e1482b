#include "cli/local/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "capstan/base/ports_file.h"
#include "cli/local/run_folder.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TargetTest : public testing::Test {
 protected:
  TargetTest() : before_(fs::current_path()) {
    unsetenv("CAPSTAN_CHIEF");
    fs::current_path(temporary_.path());
  }
  ~TargetTest() override {
    unsetenv("CAPSTAN_CHIEF");
    fs::current_path(before_);
  }

  // A run of this folder has begun; its chief listens.
  void BeginRun(const std::string& folder = "") {
    run_ = RunFolder::Make(folder, "demo");
    ASSERT_TRUE(run_.ok());
    ASSERT_TRUE(run_->NoteJob("out/demo").ok());
    ASSERT_TRUE(WritePortsFile(run_->Ports("chief"), {.data = 7001}).ok());
  }

  // Without a word: the file of the chief's port stays.
  void KillRun() { run_ = absl::NotFoundError("killed"); }
  void EndRun() {
    fs::remove("capstan-runs/latest/chief.ports");
    KillRun();
  }

  const TestFolder temporary_;
  absl::StatusOr<RunFolder> run_;

 private:
  const fs::path before_;
};

TEST_F(TargetTest, TheLastRunOfThisFolderIsMeantWhereNothingIsSaid) {
  BeginRun();
  const absl::StatusOr<Target> target = FindTarget("", "");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->chief, "127.0.0.1:7001");
  EXPECT_EQ(target->folder, "out/demo");
  EXPECT_EQ(FindChief("").value_or(""), "127.0.0.1:7001");
}

TEST_F(TargetTest, WhatIsSaidGoesBeforeTheVariableAndThatBeforeTheLastRun) {
  BeginRun();
  setenv("CAPSTAN_CHIEF", "variable:1", 1);
  EXPECT_EQ(FindChief("said:1").value_or(""), "said:1");
  EXPECT_EQ(FindChief("").value_or(""), "variable:1");
  const absl::StatusOr<Target> target = FindTarget("out/other", "");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->folder, "out/other");
  EXPECT_EQ(target->chief, "");
}

TEST_F(TargetTest, OfARunThatIsOverThereIsTheFolderButNoChief) {
  BeginRun();
  EndRun();
  const absl::StatusOr<Target> target = FindTarget("", "");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->chief, "");
  EXPECT_EQ(target->folder, "out/demo");
  const absl::Status none = FindChief("").status();
  EXPECT_TRUE(absl::IsInvalidArgument(none));
  EXPECT_THAT(std::string(none.message()), HasSubstr("the last run of this folder is over"));
}

TEST_F(TargetTest, TheFormerPortOfARunThatWasKilledMayBeAnotherJobs) {
  BeginRun();
  KillRun();
  EXPECT_EQ(FindTarget("", "")->chief, "");
  EXPECT_EQ(FindTarget("", "")->folder, "out/demo");
  EXPECT_TRUE(absl::IsInvalidArgument(FindChief("").status()));
}

TEST_F(TargetTest, ARunMayBeNamedByItsFolder) {
  BeginRun("runs/mine");
  EXPECT_EQ(FindTarget("runs/mine", "")->chief, "127.0.0.1:7001");
  EXPECT_EQ(FindTarget("runs/mine", "")->folder, "out/demo");
  KillRun();
  EXPECT_EQ(FindTarget("runs/mine", "")->chief, "");
  EXPECT_EQ(FindTarget("runs/mine", "")->folder, "out/demo");
}

TEST_F(TargetTest, SaysHowToTellWhichJobIsMeant) {
  for (const absl::Status& none : {FindTarget("", "").status(), FindChief("").status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(none));
    EXPECT_THAT(std::string(none.message()), HasSubstr("--chief host:port"));
    EXPECT_THAT(std::string(none.message()), HasSubstr("no run was started in this folder"));
  }
}

TEST_F(TargetTest, AnAddressThatIsNoneIsRefusedWithWhereItComesFrom) {
  setenv("CAPSTAN_CHIEF", "nonsense", 1);
  EXPECT_THAT(std::string(FindChief("").status().message()),
              HasSubstr("CAPSTAN_CHIEF: \"nonsense\" is not host:port"));
  EXPECT_THAT(std::string(FindChief("host:70000").status().message()),
              HasSubstr("--chief: \"host:70000\" is not host:port"));
}

}  // namespace
}  // namespace capstan::cli
