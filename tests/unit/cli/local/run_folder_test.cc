#include "cli/local/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include "tests/lib/test_folder.h"

namespace capstan::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class RunFolderTest : public testing::Test {
 protected:
  RunFolderTest() : before_(fs::current_path()) { fs::current_path(root_); }
  ~RunFolderTest() override { fs::current_path(before_); }

  const TestFolder temporary_;
  const fs::path root_ = temporary_.path();

 private:
  const fs::path before_;
};

TEST_F(RunFolderTest, MakesANewFolderForEachRunAndPointsToTheLatest) {
  const absl::StatusOr<RunFolder> first = RunFolder::Make("", "demo");
  const absl::StatusOr<RunFolder> second = RunFolder::Make("", "demo");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->path(), second->path());
  EXPECT_THAT(second->path(), StartsWith((root_ / "capstan-runs/demo-").string()));
  EXPECT_TRUE(fs::equivalent(root_ / "capstan-runs/latest", second->path()));
}

TEST_F(RunFolderTest, RunsThatBeginAtOnceHaveAFolderEach) {
  constexpr int kRuns = 16;
  std::vector<absl::StatusOr<RunFolder>> runs(kRuns);
  std::latch all(kRuns);
  std::vector<std::thread> threads;
  for (absl::StatusOr<RunFolder>& run : runs) {
    threads.emplace_back([&run, &all] {
      all.arrive_and_wait();
      run = RunFolder::Make("", "demo");
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> folders;
  for (const absl::StatusOr<RunFolder>& run : runs) {
    ASSERT_TRUE(run.ok()) << run.status();
    folders.insert(run->path());
  }
  EXPECT_EQ(folders.size(), kRuns);
  EXPECT_TRUE(folders.contains(fs::canonical("capstan-runs/latest").string()));
}

TEST_F(RunFolderTest, AFolderInWhichARunLivesIsRefused) {
  absl::StatusOr<RunFolder> first = RunFolder::Make("run", "demo");
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(IsRunAlive("run"));
  std::ofstream("run/chief.ports") << "{}";
  const absl::Status second = RunFolder::Make("run", "demo").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_THAT(std::string(second.message()), HasSubstr("another `capstan train` is at work in it"));
  EXPECT_TRUE(fs::exists("run/chief.ports"));
  first = absl::NotFoundError("over");
  EXPECT_FALSE(IsRunAlive("run"));
  EXPECT_TRUE(RunFolder::Make("run", "demo").ok());
}

TEST_F(RunFolderTest, ForgetsThePortsOfAnEarlierRunInTheSameFolder) {
  ASSERT_TRUE(RunFolder::Make("run", "demo").ok());
  std::ofstream("run/chief.ports") << "{}";
  std::ofstream("run/worker-12.ports") << "{}";
  std::ofstream("run/services.ports") << "mine";
  std::ofstream("run/chief.log") << "kept\n";
  ASSERT_TRUE(RunFolder::Make("run", "demo").ok());
  EXPECT_FALSE(fs::exists("run/chief.ports"));
  EXPECT_FALSE(fs::exists("run/worker-12.ports"));
  EXPECT_TRUE(fs::exists("run/services.ports"));
  EXPECT_TRUE(fs::exists("run/chief.log"));
}

TEST_F(RunFolderTest, RefusesAPathThatIsAFile) {
  std::ofstream("taken") << "x";
  const absl::StatusOr<RunFolder> folder = RunFolder::Make("taken", "demo");
  EXPECT_EQ(folder.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RunFolderTest, ReadsTheLastLinesOfALog) {
  std::ofstream("a.log") << "one\ntwo\n\nthree\n";
  EXPECT_THAT(LastLines("a.log", 2), ElementsAre("two", "three"));
  EXPECT_THAT(LastLines("a.log", 9), ElementsAre("one", "two", "three"));
  EXPECT_THAT(LastLines("absent.log", 2), IsEmpty());
}

TEST_F(RunFolderTest, NotesWhereTheJobOfTheLastRunIsKept) {
  EXPECT_EQ(JobOfRun("capstan-runs/latest"), "");
  const auto run = RunFolder::Make("", "demo");
  ASSERT_TRUE(run.ok());
  ASSERT_EQ(run->NoteJob(JobFolder("s3://ads/models/", "demo")), absl::OkStatus());
  EXPECT_EQ(JobOfRun("capstan-runs/latest"), "s3://ads/models/demo");
}

TEST(LastErrorTest, IsTheMessageOfTheLastErrorOfALog) {
  EXPECT_EQ(LastError({"2026-11-23T11:32:10.581Z error chief the first",
                       "2026-11-23T11:32:10.582Z error chief /m/file: is no folder",
                       "2026-11-23T11:32:10.583Z info  chief ended"}),
            "/m/file: is no folder");
  EXPECT_EQ(LastError({"2026-11-23T11:32:10.581Z error chief another configuration:",
                       "2026-11-23T11:32:10.581Z error chief seed: 1 -> 3"}),
            "another configuration: seed: 1 -> 3");
  EXPECT_EQ(LastError({"terminate called"}), "");
}

}  // namespace
}  // namespace capstan::cli
