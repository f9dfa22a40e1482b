#include "cli/serve/model_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/cli/serve/deepfm_folder.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;

// The looks, counted from one, at which a version is read that cannot be taken for this reason.
// They are ten seconds apart, and it is told once.
std::vector<int> LooksThatRead(const absl::Status& why, int looks) {
  const DeepFmFolder folder;
  InferenceService service("ctr");
  FakeClock clock;
  int look = 0;
  std::vector<int> read;
  std::vector<std::string> told;
  FollowerOptions options = {.uri = folder.path()};
  options.load = [&](const std::string&) {
    read.push_back(look);
    return why;
  };
  options.ends = [&](absl::Duration pause) {
    clock.Advance(pause);
    return ++look > looks;
  };
  options.failed = [&](const absl::Status& status) { told.emplace_back(status.message()); };
  {
    const ModelFollower follower(options, service, clock);
    EXPECT_TRUE(follower.WaitForEnd(absl::Minutes(1)));
  }
  EXPECT_EQ(service.model(), nullptr);
  EXPECT_THAT(told, ElementsAre(std::string(why.message())));
  return read;
}

TEST(ModelFollowerTest, AVersionThatDoesNotFitIsReadOnceInFiveLooks) {
  EXPECT_THAT(LooksThatRead(absl::FailedPreconditionError("no program"), 5), ElementsAre(1));
  EXPECT_THAT(LooksThatRead(absl::InvalidArgumentError("no such job"), 5), ElementsAre(1));
}

TEST(ModelFollowerTest, AVersionThatCannotBeReadIsReadAgainAfterLongerAndLongerPauses) {
  EXPECT_THAT(LooksThatRead(absl::DataLossError("a file is gone"), 16),
              ElementsAre(1, 2, 4, 8, 16));
}

}  // namespace
}  // namespace capstan::cli
