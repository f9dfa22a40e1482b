#include "chief/shell/job_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/lib/test_folder.h"

namespace capstan::chief {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

v1::JobSpec Seeded(uint64_t seed) {
  v1::JobSpec spec;
  spec.set_seed(seed);
  return spec;
}

class JobWatchTest : public testing::Test {
 protected:
  void SetUp() override { Write("first"); }

  void Write(const std::string& text) { std::ofstream(path_) << text; }

  const TestFolder folder_;
  const std::string path_ = folder_.Path("job.yaml");
  absl::StatusOr<v1::JobSpec> wanted_ = Seeded(1);  // What the file is taken to say.
  int reads_ = 0;
  JobWatch watch_{path_,
                  [this] {
                    ++reads_;
                    return wanted_;
                  },
                  Seeded(1)};
};

TEST_F(JobWatchTest, TellsOfEachContentOnce) {
  EXPECT_EQ(watch_.Look(), "");
  EXPECT_EQ(watch_.Look(), std::nullopt);
  wanted_ = Seeded(2);
  Write("second");
  EXPECT_THAT(watch_.Look(), Optional(HasSubstr("seed: 1 -> 2")));
  EXPECT_EQ(watch_.Look(), std::nullopt);
  wanted_ = Seeded(1);
  Write("first");
  EXPECT_EQ(watch_.Look(), "");
  EXPECT_EQ(reads_, 3);
}

TEST_F(JobWatchTest, LooksAgainWhenTheStoreOfTheDataWasAway) {
  wanted_ = absl::UnavailableError("no route");
  EXPECT_EQ(watch_.Look(), std::nullopt);
  wanted_ = Seeded(2);
  EXPECT_THAT(watch_.Look(), Optional(HasSubstr("seed: 1 -> 2")));
}

TEST_F(JobWatchTest, TellsOfTheDataWhateverTheFileSays) {
  JobWatch watch(
      path_, [this] { return wanted_; }, Seeded(1), "the data are others\n");
  EXPECT_EQ(watch.Look(), "the data are others\n");
  wanted_ = Seeded(2);
  Write("second");
  EXPECT_THAT(watch.Look(),
              Optional(AllOf(HasSubstr("seed: 1 -> 2"), HasSubstr("the data are others"))));
}

TEST_F(JobWatchTest, SaysNothingOfAFileThatIsNotThereForAMoment) {
  EXPECT_EQ(watch_.Look(), "");
  std::filesystem::remove(path_);
  EXPECT_EQ(watch_.Look(), std::nullopt);
}

}  // namespace
}  // namespace capstan::chief
