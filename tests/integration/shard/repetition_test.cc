// Of a request of several calls some of which fail, only these are sent again.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/integration/shard/flaky_proxy.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

constexpr int kTries = 40;
constexpr uint32_t kWidth = 2'000'000;  // Eight blocks of about a mebibyte: a call each.

class RepetitionTest : public testing::Test {
 protected:
  RepetitionTest()
      : shards_(SmallJob(/*dim=*/0, kWidth), 1),
        proxy_(shards_.view().shards(0).address(), {.lost_requests = 50}, /*seed=*/3) {
    shards_.SetAddress(0, proxy_.address());
    trainer_ = std::make_unique<Trainer>(shards_);
    trainer_->Plan({});
    calls_ = trainer_->plan.ChunksOf(ShardIndex{0}).size();
  }

  // Tries until all of it has arrived. Gives the last result.
  PushResult Push(uint64_t seq, float gradient) {
    PushResult result{.status = absl::UnknownError("not tried")};
    for (int i = 0; i < kTries && !result.status.ok(); ++i) {
      result = trainer_->Push(
          {.stream = StreamPush{StreamId::Session(1), seq, {1, 1}, 0}, .answered = &answered_},
          gradient);
    }
    EXPECT_TRUE(result.status.ok()) << result.status;
    return result;
  }

  void Pull() {
    absl::Status status = absl::UnknownError("not tried");
    for (int i = 0; i < kTries && !status.ok(); ++i) {
      status = trainer_->Pull({.answered = &answered_}).status;
    }
    EXPECT_TRUE(status.ok()) << status;
  }

  LocalShards shards_;
  FlakyProxy proxy_;
  std::unique_ptr<Trainer> trainer_;
  AnsweredPartitions answered_;
  size_t calls_ = 0;
};

TEST_F(RepetitionTest, OfAPushEachCallArrivesOnceAndCountsOnce) {
  ASSERT_GT(calls_, 4u);
  const PushResult pushed = Push(/*seq=*/0, -1);
  EXPECT_GT(proxy_.lost_requests(), 1);
  EXPECT_EQ(proxy_.forwarded(), static_cast<int>(calls_));
  EXPECT_EQ(pushed.count(v1::OUTCOME_APPLIED), calls_) << "those of earlier tries among them";
  EXPECT_EQ(pushed.count(v1::OUTCOME_SETTLED), 0u);
  EXPECT_TRUE(answered_.empty());
  Push(/*seq=*/1, -1);
  EXPECT_EQ(proxy_.forwarded(), static_cast<int>(2 * calls_)) << "the next push is of everything";
}

TEST_F(RepetitionTest, OfAPullEachCallArrivesOnceAndWhatItBroughtStays) {
  Push(/*seq=*/0, -1);
  const int before = proxy_.forwarded();
  const int lost = proxy_.lost_requests();
  Pull();
  EXPECT_GT(proxy_.lost_requests(), lost);
  EXPECT_EQ(proxy_.forwarded(), before + static_cast<int>(calls_));
  EXPECT_EQ(trainer_->dense, std::vector<float>(kWidth, 1));
  EXPECT_TRUE(answered_.empty());
}

TEST_F(RepetitionTest, WhatWasPulledForAnotherRoundIsPulledAgain) {
  answered_.SetRound(7);
  for (uint32_t partition = 0; partition < 8; ++partition) answered_.Add(partition, {});
  Pull();
  EXPECT_EQ(trainer_->dense, std::vector<float>(kWidth, 0));
}

}  // namespace
}  // namespace capstan
