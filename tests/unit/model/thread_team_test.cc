#include "capstan/model/thread_team.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "absl/synchronization/barrier.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

TEST(ThreadTeamTest, EveryPieceIsDoneOnceARun) {
  ThreadTeam team(4);
  for (size_t run = 0; run < 500; ++run) {
    std::vector<std::atomic<int>> times(run % 10);
    team.Run(times.size(), [&](size_t piece) { ++times[piece]; });
    for (const std::atomic<int>& done : times) EXPECT_EQ(done, 1);
  }
}

TEST(ThreadTeamTest, AsManyPiecesAsMembersAreDoneAtOnce) {
  ThreadTeam team(3);
  for (int run = 0; run < 100; ++run) {
    absl::Mutex mu;
    std::set<std::thread::id> threads;
    absl::Barrier* const all = new absl::Barrier(3);
    team.Run(3, [&](size_t) {
      if (all->Block()) delete all;
      absl::MutexLock lock(&mu);
      threads.insert(std::this_thread::get_id());
    });
    EXPECT_EQ(threads.size(), 3u);
    EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
  }
}

TEST(ThreadTeamTest, WhatAMemberDoesNotGetToIsDoneByTheOthers) {
  ThreadTeam team(2);
  absl::Notification rest;
  std::atomic<int> done = 0;
  team.Run(8, [&](size_t piece) {
    if (piece == 0) {
      rest.WaitForNotification();  // The other member does the seven.
    } else if (++done == 7) {
      rest.Notify();
    }
  });
  EXPECT_EQ(done, 7);
}

TEST(ThreadTeamTest, OneMemberIsTheCaller) {
  ThreadTeam team(1);
  std::vector<std::thread::id> threads;
  team.Run(2, [&threads](size_t) { threads.push_back(std::this_thread::get_id()); });
  EXPECT_EQ(threads, std::vector(2, std::this_thread::get_id()));
}

}  // namespace
}  // namespace capstan
