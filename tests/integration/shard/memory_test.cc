// One budget for what a shard holds beside its parameters: where one use has no room, others go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "ps/process/coordinator_link.h"
#include "tests/integration/shard/raw_shard.h"
#include "tests/integration/shard/runner.h"

namespace capstan {
namespace {

using testing::Each;
using testing::HasSubstr;

class ShardMemoryTest : public RawShardTest {
 protected:
  // A shard of 8 MiB, of which pushes in pieces may take a quarter.
  ShardMemoryTest() { shards_.at(0).shard().accounts().SetMemory(8 << 20); }

  // One byte of a push of 3 MiB.
  absl::Status SendPiece(uint64_t push, uint64_t offset) {
    v1::PushPieceRequest piece;
    SetHeader(*piece.mutable_header());
    piece.set_push(push);
    piece.set_size(3 << 20);
    piece.set_offset(offset);
    piece.set_piece("x");
    return SendBytes("PushPiece", piece.SerializeAsString());
  }
  // As the next scrape shows it; -1: not at all.
  double Shown(const std::string& metric, const std::string& use) {
    ps::Shard& shard = shards_.at(0).shard();
    shard.metrics().Set(shard.accounts().Facts());
    const std::string text = shards_.at(0).Metrics();
    const std::string line = absl::StrCat(metric, "{use=\"", use, "\"} ");
    const size_t at = text.find(line);
    return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size()));
  }
};

TEST_F(ShardMemoryTest, WhatHasNoRoomIsRefusedByNameWhileAllElseGoesOn) {
  ASSERT_TRUE(SendPiece(/*push=*/1, /*offset=*/0).ok()) << "one always fits";
  const absl::Status refused = SendPiece(/*push=*/2, /*offset=*/0);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("pushes that come in pieces take 3145728 bytes of this shard's memory, "
                        "which may be 2097152"));
  EXPECT_TRUE(Send(GoodPush()).ok());
  EXPECT_THAT(RowOf(3), Each(-1)) << "pulled, as it was pushed";
  EXPECT_TRUE(absl::IsUnavailable(SendPiece(/*push=*/1, /*offset=*/2))) << "there is a gap";
  EXPECT_TRUE(SendPiece(/*push=*/2, /*offset=*/0).ok()) << "the first has been given up";
}

TEST_F(ShardMemoryTest, WhatIsHeldAndWhatMayBeIsShownByItsUse) {
  EXPECT_EQ(Shown("capstan_memory_held_bytes", "push_pieces"), 0);
  ASSERT_TRUE(SendPiece(/*push=*/1, /*offset=*/0).ok());
  EXPECT_EQ(Shown("capstan_memory_held_bytes", "push_pieces"), 3 << 20);
  EXPECT_EQ(Shown("capstan_memory_limit_bytes", "push_pieces"), 2 << 20);
  EXPECT_EQ(Shown("capstan_memory_refused_requests_total", "push_pieces"), 0);
  EXPECT_FALSE(SendPiece(/*push=*/2, /*offset=*/0).ok());
  EXPECT_EQ(Shown("capstan_memory_refused_requests_total", "push_pieces"), 1);
  for (const char* use : {"waiting_pulls", "waiting_gradients", "replies", "moves", "replicas"}) {
    EXPECT_EQ(Shown("capstan_memory_held_bytes", use), 0) << use;
    EXPECT_GT(Shown("capstan_memory_limit_bytes", use), 0) << use;
  }
}

// Where the lane whose turn it is is always let in, gradients wait in what the parameters leave.
TEST(ShardMemoryRoundsTest, GradientsWaitInWhatTheParametersLeaveUnlessTheRoundNeedsThemAll) {
  constexpr uint64_t kMemory = uint64_t{300} << 20;
  for (const uint32_t backup_workers : {0, 1}) {
    LocalShards shards(SyncJob(/*lanes=*/2, backup_workers, /*dense_width=*/1 << 20), /*count=*/1);
    ps::Shard& shard = shards.at(0).shard();
    shard.accounts().SetMemory(kMemory);
    const v1::ShardReport report = shards.at(0).Report();
    ASSERT_GE(report.parameter_bytes(), size_t{4} << 20);
    shard.accounts().LimitWaiting(report);
    const size_t limit = shard.waiting_gradients().limit();
    if (backup_workers > 0) {
      EXPECT_EQ(limit, kMemory / 2);
    } else {
      EXPECT_LE(limit, kMemory / 2 - report.parameter_bytes());
      EXPECT_GE(limit, kMemory / 8);
    }
  }
}

// What a round needs is never refused for ever, whatever else is full.
TEST(ShardMemoryRoundsTest, ARoundClosesThoughItNeedsMoreThanItsShareAndAnotherUseIsFull) {
  constexpr uint32_t kFloats = 1 << 20;
  constexpr size_t kShare = 1 << 20;
  LocalShards shards(SyncJob(/*lanes=*/2, /*backup_workers=*/0, kFloats), /*count=*/1);
  ps::Shard& shard = shards.at(0).shard();
  shard.accounts().SetMemory(2 * kShare);
  v1::PushPieceRequest piece;
  piece.set_size(2 * kShare);
  piece.set_piece("x");
  ASSERT_TRUE(shard.pieces().Take({"peer:1", "peer"}, piece, shard.clock().Now()).ok());
  ps::CoordinatorLink link(shard, /*tls=*/nullptr);
  link.SetView(shards.view());
  Runner first(shards, 0), second(shards, 1);
  ASSERT_EQ(second.Open().round(), 1u);
  const PushResult refused = second.Stage(/*gradient=*/-1, /*examples=*/1);
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status)) << refused.status;
  EXPECT_THAT(std::string(refused.status.message()), HasSubstr("gradients that wait for others"));
  const v1::ShardReport report = shards.at(0).Report();
  const auto full = std::find_if(report.memory().begin(), report.memory().end(),
                                 [](const auto& use) { return use.refused() > 0; });
  ASSERT_NE(full, report.memory().end()) << "the chief is told which";
  EXPECT_EQ(full->what(), "gradients that wait for others");
  EXPECT_EQ(full->limit(), kShare);
  first.Train(/*gradient=*/-1, /*examples=*/1);
  // It is the second one's turn when the first one's gradient is in the sum.
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (shard.waiting_gradients().held() > kShare && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  second.Train(/*gradient=*/-1, /*examples=*/1);
  ASSERT_EQ(first.Open().round(), 2u);
  ASSERT_TRUE(first.Pull().status.ok());
  EXPECT_THAT(first.dense(), Each(1));
}

}  // namespace
}  // namespace capstan
