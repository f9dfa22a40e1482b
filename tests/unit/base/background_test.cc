#include "capstan/base/background.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

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

}  // namespace
}  // namespace capstan
