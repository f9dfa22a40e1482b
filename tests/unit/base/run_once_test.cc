#include "capstan/base/run_once.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "absl/synchronization/notification.h"

namespace capstan {
namespace {

TEST(RunOnceTest, TheWorkIsRunOnceHoweverOftenItIsAskedFor) {
  int runs = 0;
  RunOnce work([&runs] { ++runs; });
  EXPECT_EQ(runs, 0);
  work.Run();
  work.Run();
  EXPECT_EQ(runs, 1);
}

TEST(RunOnceTest, WhoeverAsksWhileItRunsWaitsForItsEnd) {
  absl::Notification begun, may_end;
  bool ended = false;
  RunOnce work([&] {
    begun.Notify();
    may_end.WaitForNotification();
    ended = true;
  });
  std::thread first([&] { work.Run(); });
  begun.WaitForNotification();
  bool ended_for_the_other = false;
  std::thread other([&] {
    work.Run();
    ended_for_the_other = ended;
  });
  may_end.Notify();
  first.join();
  other.join();
  EXPECT_TRUE(ended_for_the_other);
}

TEST(RunOnceTest, WhatTheWorkHeldIsLetGoOfOnceItHasRun) {
  auto held = std::make_shared<int>(1);
  RunOnce work([held] {});
  work.Run();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace capstan
