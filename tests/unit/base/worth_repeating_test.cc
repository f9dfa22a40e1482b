#include "capstan/base/worth_repeating.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(WorthRepeatingTest, WhoeverIsAwayOrBusyIsAskedAgain) {
  EXPECT_TRUE(IsWorthRepeating(absl::UnavailableError("nobody listens")));
  EXPECT_TRUE(IsWorthRepeating(absl::DeadlineExceededError("no answer")));
  EXPECT_TRUE(IsWorthRepeating(absl::ResourceExhaustedError("too many")));
}

TEST(WorthRepeatingTest, ACallThatWasResetIsMadeAgain) {
  EXPECT_TRUE(IsWorthRepeating(absl::InternalError("RST_STREAM with error code 2")));
  EXPECT_TRUE(IsWorthRepeating(absl::CancelledError("RST_STREAM with error code 8")));
  EXPECT_TRUE(IsWorthRepeating(absl::UnknownError("Stream removed")));
}

TEST(WorthRepeatingTest, AnAnswerIsNotAskedForTwice) {
  EXPECT_FALSE(IsWorthRepeating(absl::OkStatus()));
  EXPECT_FALSE(IsWorthRepeating(absl::FailedPreconditionError("another wire version")));
  EXPECT_FALSE(IsWorthRepeating(absl::InvalidArgumentError("no address")));
  EXPECT_FALSE(IsWorthRepeating(absl::PermissionDeniedError("another shard's certificate")));
}

}  // namespace
}  // namespace capstan
