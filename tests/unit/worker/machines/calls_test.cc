// When a call that was refused is tried again.
#include "worker/machines/calls.h"

#include <gtest/gtest.h>

namespace capstan::worker {
namespace {

class CallsTest : public testing::Test {
 protected:
  // How long it waits after another refusal with this hint.
  absl::Duration Wait(absl::Duration hint) {
    const auto random = [this] { return random_; };
    call_.Wait({}, hint, {absl::UnixEpoch(), clock_, random});
    EXPECT_EQ(call_.state, Call::State::kWaiting);
    return call_.due - absl::UnixEpoch();
  }

  Call call_;
  TrainerClock clock_;
  double random_ = 1;
};

TEST_F(CallsTest, TheBackOffDoublesWithEachFailureUpToItsMost) {
  EXPECT_EQ(Wait({}), absl::Milliseconds(20));
  EXPECT_EQ(Wait({}), absl::Milliseconds(40));
  EXPECT_EQ(Wait({}), absl::Milliseconds(80));
  for (int i = 0; i < 100; ++i) Wait({});
  EXPECT_EQ(Wait({}), absl::Seconds(2));
}

TEST_F(CallsTest, AHintIsWaitedForAtLeastAndItsDoubleAtMost) {
  random_ = 0;
  EXPECT_EQ(Wait(absl::Milliseconds(50)), absl::Milliseconds(50));
  random_ = 1;
  EXPECT_EQ(Wait(absl::Milliseconds(50)), absl::Milliseconds(100));
}

// Of a partition on its way to another shard.
TEST_F(CallsTest, AHintThatIsShorterThanTheFirstBackOffIsFollowedAndCountsAsNoFailure) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Wait(absl::Milliseconds(5)), absl::Milliseconds(10));
  EXPECT_EQ(call_.failures, 0);
  EXPECT_EQ(Wait({}), absl::Milliseconds(20)) << "the first of the ordinary ones";
}

}  // namespace
}  // namespace capstan::worker
