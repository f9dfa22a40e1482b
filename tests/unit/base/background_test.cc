#include "capstan/base/background.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "absl/synchronization/barrier.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

int NicenessOfThis() { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); }

TEST(ThreadsTest, WorkIsOverWhenItIsDestroyed) {
  bool done = false;
  (void)Threads().Begin([&] { done = true; });
  EXPECT_TRUE(done);
}

TEST(ThreadsTest, GentleThreadsAreNicerThanOthersAndLeaveThoseAsTheyAre) {
  const int own = NicenessOfThis();
  int gentle = 0;
  int plain = 0;
  const int more = std::min(own + 5, 19);
  (void)Threads(more).Begin([&] { gentle = NicenessOfThis(); });
  (void)Threads().Begin([&] { plain = NicenessOfThis(); });
  EXPECT_EQ(gentle, more);
  EXPECT_EQ(plain, own);
  EXPECT_EQ(NicenessOfThis(), own);
}

TEST(ForEachTest, DoesEachOnceByAsManyThreadsAsItIsGiven) {
  constexpr size_t kCount = 1000;
  Threads threads;
  std::vector<std::atomic<int>> done(kCount);
  absl::Barrier* all = new absl::Barrier(3);  // Three are at work at once, or it does not end.
  const absl::Status status = ForEach(kCount, threads, /*helpers=*/2, [&](size_t i) {
    ++done[i];
    if (i < 3 && all->Block()) delete all;
    return absl::OkStatus();
  });
  EXPECT_EQ(status, absl::OkStatus());
  for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
}

TEST(ForEachTest, AfterAnErrorNoneIsBegun) {
  Threads threads;
  int done = 0;
  const absl::Status status = ForEach(10, threads, /*helpers=*/0, [&](size_t i) {
    ++done;
    return i == 3 ? absl::DataLossError("three") : absl::OkStatus();
  });
  EXPECT_EQ(status, absl::DataLossError("three"));
  EXPECT_EQ(done, 4);
}

}  // namespace
}  // namespace capstan
