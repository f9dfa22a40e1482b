#include "capstan/base/steady_waits.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"

namespace {

// Of what this process takes for the time of day, to that of the kernel, by which it wakes.
std::atomic<int> seconds_ahead{0};

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (clock == CLOCK_REALTIME) now->tv_sec += seconds_ahead;
  return result;
}

extern "C" int gettimeofday(timeval* now, void*) noexcept {
  const auto result = static_cast<int>(syscall(SYS_gettimeofday, now, nullptr));
  now->tv_sec += seconds_ahead;
  return result;
}

namespace capstan {
namespace {

// What a wait of Abseil asks of the kernel. Gives errno, 0: it was woken.
int WaitUntil(absl::Time time_of_day, uint32_t word, uint32_t expected) {
  const timespec deadline = absl::ToTimespec(time_of_day);
  const long result =
      syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME,
              expected, &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
  return result == 0 ? 0 : errno;
}

class SteadyWaitsTest : public testing::Test {
 protected:
  SteadyWaitsTest() { WaitBySteadyClock(); }
};

TEST_F(SteadyWaitsTest, AWaitEndsAtItsTimeAndNotBefore) {
  const absl::Time begin = SteadyClock().Now();
  EXPECT_EQ(WaitUntil(absl::Now() + absl::Milliseconds(30), 1, 1), ETIMEDOUT);
  EXPECT_GE(SteadyClock().Now() - begin, absl::Milliseconds(29));
}

TEST_F(SteadyWaitsTest, ATimeThatIsOverEndsAtOnce) {
  EXPECT_EQ(WaitUntil(absl::Now() - absl::Hours(1), 1, 1), ETIMEDOUT);
  EXPECT_EQ(WaitUntil(absl::UnixEpoch(), 1, 1), ETIMEDOUT);
}

TEST_F(SteadyWaitsTest, AWordThatHasChangedIsNotWaitedFor) {
  EXPECT_EQ(WaitUntil(absl::Now() + absl::Hours(1), 2, 1), EAGAIN);
}

TEST_F(SteadyWaitsTest, OtherCallsPassThroughWithAllTheirArguments) {
  EXPECT_EQ(syscall(SYS_getpid), getpid());
  uint32_t one = 0, two = 1;
  // Changes the second word, and would wake who waits for either: six arguments, and a result.
  constexpr uint32_t kSetIfOne = FUTEX_OP(FUTEX_OP_SET, 7, FUTEX_OP_CMP_EQ, 1);
  EXPECT_EQ(syscall(SYS_futex, &one, FUTEX_WAKE_OP, 1, 1, &two, kSetIfOne), 0);
  EXPECT_EQ(two, 7u);
  EXPECT_EQ(syscall(SYS_close, -1), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(SteadyWaitsTest, AbseilDoesNotWaitForATimeOfDay) {
  absl::Notification never;
  const absl::Time begin = SteadyClock().Now();
  seconds_ahead = 5;
  EXPECT_FALSE(never.WaitForNotificationWithTimeout(absl::Milliseconds(30)));
  seconds_ahead = 0;
  EXPECT_GE(SteadyClock().Now() - begin, absl::Milliseconds(29));
  EXPECT_LT(SteadyClock().Now() - begin, absl::Seconds(3));
}

}  // namespace
}  // namespace capstan
