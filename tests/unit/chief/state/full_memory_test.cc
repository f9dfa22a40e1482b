#include "chief/state/full_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

using testing::IsEmpty;

constexpr char kGradients[] = "gradients that wait for others";

class FullMemoryTest : public testing::Test {
 protected:
  void Hear(uint64_t held, uint64_t refused, absl::Duration after) {
    now_ += after;
    v1::ShardReport report;
    v1::MemoryReport& memory = *report.add_memory();
    memory.set_what(kGradients);
    memory.set_held(held);
    memory.set_limit(100);
    memory.set_refused(refused);
    full_.Hear(report, now_);
  }

  FullMemory full_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(FullMemoryTest, AShareIsFullSinceItWasFirstToldThatMoreWasTurnedAway) {
  Hear(/*held=*/90, /*refused=*/0, absl::ZeroDuration());
  EXPECT_THAT(full_.Full(now_), IsEmpty());
  Hear(95, 3, absl::Seconds(1));
  const absl::Time since = now_;
  Hear(99, 5, absl::Seconds(1));
  Hear(60, 6, absl::Seconds(20));
  ASSERT_TRUE(full_.Full(now_).contains(kGradients));
  const FullMemory::Share share = full_.Full(now_).at(kGradients);
  EXPECT_EQ(share.since, since);
  EXPECT_EQ(share.held, 99u) << "the most of them";
  EXPECT_EQ(share.limit, 100u);
}

TEST_F(FullMemoryTest, ItIsOverWhenNothingHasBeenTurnedAwayForAWhileAndThenBeginsAnew) {
  Hear(99, 0, absl::ZeroDuration());
  Hear(99, 1, absl::Seconds(1));
  Hear(10, 1, FullMemory::kCalm);
  EXPECT_FALSE(full_.Full(now_).empty());
  Hear(10, 1, absl::Seconds(1));
  EXPECT_THAT(full_.Full(now_), IsEmpty());
  Hear(80, 2, absl::Seconds(1));
  ASSERT_TRUE(full_.Full(now_).contains(kGradients));
  EXPECT_EQ(full_.Full(now_).at(kGradients).since, now_);
  EXPECT_EQ(full_.Full(now_).at(kGradients).held, 80u);
}

TEST_F(FullMemoryTest, WhatWasTurnedAwayBeforeAChiefHasHeardOfTheShardIsNoNews) {
  Hear(99, 1000, absl::ZeroDuration());
  Hear(99, 1000, absl::Seconds(1));
  EXPECT_THAT(full_.Full(now_), IsEmpty());
}

TEST_F(FullMemoryTest, WhatAShardTellsOfNoMoreIsForgotten) {
  Hear(99, 0, absl::ZeroDuration());
  Hear(99, 1, absl::Seconds(1));
  full_.Hear(v1::ShardReport(), now_);
  EXPECT_THAT(full_.Full(now_), IsEmpty()) << "a peer that invents names is not to fill the memory";
}

}  // namespace
}  // namespace capstan::chief
