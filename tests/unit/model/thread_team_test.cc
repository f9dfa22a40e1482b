#include "capstan/model/thread_team.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace capstan {
namespace {

TEST(ThreadTeamTest, EveryMemberWorksOnceARunOnItsOwnThread) {
  ThreadTeam team(4);
  std::vector<int> worked(4);
  std::vector<std::thread::id> threads(4);
  for (int run = 0; run < 500; ++run) {
    team.Run([&](size_t member) {
      ++worked[member];
      threads[member] = std::this_thread::get_id();
    });
    for (int times : worked) EXPECT_EQ(times, run + 1);
  }
  EXPECT_EQ(threads[0], std::this_thread::get_id());
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = 0; b < a; ++b) EXPECT_NE(threads[a], threads[b]);
  }
}

TEST(ThreadTeamTest, OneMemberIsTheCaller) {
  ThreadTeam team(1);
  int worked = 0;
  team.Run([&worked](size_t member) { worked += member == 0 ? 1 : 100; });
  EXPECT_EQ(worked, 1);
}

}  // namespace
}  // namespace capstan
