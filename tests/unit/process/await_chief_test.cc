#include "capstan/process/await_chief.h"

#include <gtest/gtest.h>

#include <vector>

namespace capstan {
namespace {

// Each attempt of a call to the chief takes three seconds.
class AwaitChiefTest : public testing::Test {
 protected:
  absl::Status Await(const std::vector<absl::Status>& answers) {
    return AwaitChief({.address = "chief:7000", .give_up_after = absl::Seconds(10)}, clock_,
                      shutdown_, [&] {
                        clock_.Advance(absl::Seconds(3));
                        const size_t attempt = attempts_++;
                        return attempt < answers.size() ? answers[attempt] : answers.back();
                      });
  }

  FakeClock clock_;
  Shutdown shutdown_;
  size_t attempts_ = 0;
};

TEST_F(AwaitChiefTest, AChiefThatIsAwayIsAskedAgainUntilItAnswers) {
  EXPECT_TRUE(Await({absl::UnavailableError("away"), absl::OkStatus()}).ok());
  EXPECT_EQ(attempts_, 2u);
}

TEST_F(AwaitChiefTest, WhatTheChiefRefusesIsNotAskedAgain) {
  EXPECT_EQ(Await({absl::FailedPreconditionError("no such shard")}),
            absl::FailedPreconditionError("no such shard"));
  EXPECT_EQ(attempts_, 1u);
}

TEST_F(AwaitChiefTest, AChiefThatStaysAwayIsGivenUpWithItsAddressAndTheLastError) {
  EXPECT_EQ(Await({absl::UnavailableError("away")}),
            absl::DeadlineExceededError("no chief at chief:7000 after 10s: away"));
  EXPECT_EQ(attempts_, 4u) << "3 s each";
}

TEST_F(AwaitChiefTest, WhoIsAskedToStopWaitsNoLonger) {
  shutdown_.Request();
  EXPECT_EQ(Await({absl::UnavailableError("away")}), absl::CancelledError("asked to stop"));
  EXPECT_EQ(attempts_, 1u);
}

}  // namespace
}  // namespace capstan
