#include "cli/serve/load_pauses.h"

#include "gtest/gtest.h"

namespace capstan::cli {
namespace {

const absl::Status kLost = absl::DataLossError("a file is gone");
const absl::Status kUnfit = absl::FailedPreconditionError("no program");
const absl::Time kStart = absl::UnixEpoch();

absl::Time At(int64_t seconds) { return kStart + absl::Seconds(seconds); }

TEST(LoadPausesTest, AVersionOfWhichNothingIsKnownIsReadAtOnce) {
  EXPECT_EQ(LoadPauses(absl::Seconds(10)).Standing("a", kStart), absl::OkStatus());
}

TEST(LoadPausesTest, EachFailureDoublesThePauseUpToTenMinutes) {
  LoadPauses pauses(absl::Seconds(10));
  int64_t now = 0;
  for (const int64_t pause : {10, 20, 40, 80, 160, 320, 600, 600}) {
    pauses.Failed("a", kLost, At(now));
    EXPECT_EQ(pauses.Standing("a", At(now + pause - 1)), kLost);
    EXPECT_EQ(pauses.Standing("a", At(now + pause)), absl::OkStatus());
    now += pause;
  }
}

TEST(LoadPausesTest, WhatDoesNotFitIsLeftAloneForTenMinutesAtOnce) {
  for (const absl::Status& why : {kUnfit, absl::InvalidArgumentError("no such job")}) {
    LoadPauses pauses(absl::Seconds(10));
    pauses.Failed("a", why, kStart);
    EXPECT_EQ(pauses.Standing("a", At(599)), why);
    EXPECT_EQ(pauses.Standing("a", At(600)), absl::OkStatus());
  }
}

TEST(LoadPausesTest, AnotherVersionIsReadAtOnceAndItsPausesBeginAnew) {
  LoadPauses pauses(absl::Seconds(10));
  pauses.Failed("a", kUnfit, kStart);
  EXPECT_EQ(pauses.Standing("b", At(1)), absl::OkStatus());
  pauses.Failed("b", kLost, At(1));
  EXPECT_EQ(pauses.Standing("b", At(10)), kLost);
  EXPECT_EQ(pauses.Standing("b", At(11)), absl::OkStatus());
}

}  // namespace
}  // namespace capstan::cli
