#include "worker/shell/idle_time.h"

#include <gtest/gtest.h>

namespace capstan::worker {
namespace {

absl::Time At(int64_t ms) { return absl::UnixEpoch() + absl::Milliseconds(ms); }

TEST(DivideIdleTest, EachStageOfTheStepGetsWhatTheThreadStoodMeanwhile) {
  const IdleTime idle = DivideIdle({.asked = At(10),
                                    .read = At(30),
                                    .pull_began = At(35),
                                    .idle_from = At(3),
                                    .compute_began = At(47)});
  EXPECT_EQ(idle.work, absl::Milliseconds(7));
  EXPECT_EQ(idle.data, absl::Milliseconds(20));
  EXPECT_EQ(idle.turn, absl::Milliseconds(5));
  EXPECT_EQ(idle.pull, absl::Milliseconds(12));
}

TEST(DivideIdleTest, WhatWentOnBesideAComputationCostNothing) {
  const IdleTime idle = DivideIdle({.asked = At(10),
                                    .read = At(30),
                                    .pull_began = At(35),
                                    .idle_from = At(45),
                                    .compute_began = At(47)});
  EXPECT_EQ(idle.work + idle.data + idle.turn, absl::ZeroDuration());
  EXPECT_EQ(idle.pull, absl::Milliseconds(2));
}

TEST(DivideIdleTest, AThreadThatComputesWithoutABreakWaitsForNothing) {
  const IdleTime idle = DivideIdle({.asked = At(10),
                                    .read = At(30),
                                    .pull_began = At(35),
                                    .idle_from = At(60),
                                    .compute_began = At(60)});
  EXPECT_EQ(idle.work + idle.data + idle.turn + idle.pull, absl::ZeroDuration());
}

}  // namespace
}  // namespace capstan::worker
