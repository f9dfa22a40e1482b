#include "capstan/consistency/stream_ledger.h"

#include <gtest/gtest.h>

#include <set>

#include "capstan/base/hash.h"

namespace capstan {
namespace {

constexpr absl::Time kNow = absl::UnixEpoch();
constexpr StreamId kTask{5};

LedgerAnswer Push(StreamLedger& ledger, uint64_t seq, uint64_t low_watermark = 0,
                  Generation generation = {1, 1}) {
  const StreamPush push{kTask, seq, generation, low_watermark};
  const LedgerAnswer answer = ledger.Look(push, kNow);
  if (answer == LedgerAnswer::kFresh) ledger.Settle(push);
  return answer;
}

TEST(StreamLedgerTest, SettlesEachSeqOnceInWhateverOrder) {
  StreamLedger ledger;
  std::set<uint64_t> settled;
  for (uint64_t i = 0; i < 2000; ++i) {
    const uint64_t low = i / 40;
    const uint64_t seq = low + Draw(/*seed=*/2, 0, i) % 50;
    const bool fresh = settled.insert(seq).second && seq >= low;
    ASSERT_EQ(Push(ledger, seq, low), fresh ? LedgerAnswer::kFresh : LedgerAnswer::kSettled) << i;
    for (uint64_t below = 0; below < low; ++below) settled.insert(below);
  }
  EXPECT_EQ(ledger.lost(), 0u);
}

TEST(StreamLedgerTest, KeepsToTheWindow) {
  StreamLedger ledger;
  EXPECT_EQ(Push(ledger, StreamLedger::kWindow), LedgerAnswer::kOutsideWindow);
  EXPECT_EQ(Push(ledger, StreamLedger::kWindow - 1), LedgerAnswer::kFresh);
  for (uint64_t seq = 0; seq + 1 < StreamLedger::kWindow; ++seq) {
    EXPECT_EQ(Push(ledger, seq), LedgerAnswer::kFresh);
  }
  EXPECT_EQ(ledger.state().streams[0].prefix, StreamLedger::kWindow);
  EXPECT_EQ(ledger.state().streams[0].above, 0u);
  EXPECT_EQ(Push(ledger, 2 * StreamLedger::kWindow - 1), LedgerAnswer::kFresh);
}

TEST(StreamLedgerTest, ALookAloneSettlesNothing) {
  StreamLedger ledger;
  const StreamPush push{kTask, 0, {1, 1}, 0};
  EXPECT_EQ(ledger.Look(push, kNow), LedgerAnswer::kFresh);
  EXPECT_EQ(ledger.Look(push, kNow), LedgerAnswer::kFresh);
}

TEST(StreamLedgerTest, ALowWatermarkAboveTheSeqDoesNotSettleIt) {
  StreamLedger ledger;
  EXPECT_EQ(Push(ledger, 3, /*low_watermark=*/9), LedgerAnswer::kFresh);
}

TEST(StreamLedgerTest, ALowWatermarkFarAboveClearsTheWindow) {
  StreamLedger ledger;
  Push(ledger, 1);
  EXPECT_EQ(Push(ledger, 1000, /*low_watermark=*/1000), LedgerAnswer::kFresh);
  EXPECT_EQ(Push(ledger, 999, 0), LedgerAnswer::kSettled);
}

// A partition that has recovered partially: its copy has two batches of the task, the chief knows
// of three, the client was at most a window further.
StreamLedger ComeBack() {
  StreamLedger before;
  Push(before, 0);
  Push(before, 1);
  return StreamLedger::RecoverPartially(
      before.state(), {.open = {{kTask, {1, 1}, 3}}, .closed = {{{7}, 10}}}, kNow);
}

TEST(StreamLedgerTest, WhatAPartitionThatCameBackAloneIsToldAndLacksIsLost) {
  EXPECT_EQ(ComeBack().lost(), 1u + 10u);
}

TEST(StreamLedgerTest, WhatTheFirstLowWatermarkAfterwardsPassesOverIsLost) {
  StreamLedger ledger = ComeBack();
  EXPECT_EQ(Push(ledger, 6, /*low_watermark=*/5), LedgerAnswer::kFresh);
  EXPECT_EQ(ledger.lost(), 11u + 2u);
  EXPECT_EQ(Push(ledger, 8, /*low_watermark=*/8), LedgerAnswer::kFresh);
  EXPECT_EQ(ledger.lost(), 13u + 2u) << "5 and 7: its client may have been so far";
}

TEST(StreamLedgerTest, BatchesThatHaveNothingForThePartitionAreNotLostLater) {
  StreamLedger ledger = ComeBack();
  Push(ledger, 3, /*low_watermark=*/3);
  const uint64_t end = 3 + StreamLedger::kWindow;
  Push(ledger, end + 5, /*low_watermark=*/end);
  const uint64_t lost = ledger.lost();
  EXPECT_EQ(lost, 11u + StreamLedger::kWindow - 1);
  Push(ledger, end + 50, /*low_watermark=*/end + 50);
  ledger.Close(kTask, end + 90);
  EXPECT_EQ(ledger.lost(), lost);
  const StreamPush of_another_task{{8}, 20, {1, 1}, 20};
  EXPECT_EQ(ledger.Look(of_another_task, kNow), LedgerAnswer::kFresh);
  ledger.Close({8}, 40);
  EXPECT_EQ(ledger.lost(), lost);
}

TEST(StreamLedgerTest, ALeaseOfWhichAnEarlierChiefAloneKnewIsRefusedByAPartitionThatCameBackAlone) {
  StreamLedger ledger = StreamLedger::RecoverPartially(
      {}, {.open = {{kTask, {1, 1}, 0}}, .closed = {}, .term = 2}, kNow);
  const StreamPush untold{{8}, 2, {1, 9}, 2};
  EXPECT_EQ(ledger.Look(untold, kNow), LedgerAnswer::kOldGeneration);
  const StreamPush again{{8}, 0, {2, 1}, 0};
  EXPECT_EQ(ledger.Look(again, kNow), LedgerAnswer::kFresh) << "whoever redoes it pushes it all";
  EXPECT_EQ(Push(ledger, 0), LedgerAnswer::kFresh) << "one that was told goes on";
  const StreamPush of_client{StreamId::Session(5), 0, {1, 1}, 0};
  EXPECT_EQ(ledger.Look(of_client, kNow), LedgerAnswer::kFresh) << "no chief leases sessions";
}

TEST(StreamLedgerTest, ATaskThatIsClosedWithoutAnotherPushIsLostToItsEnd) {
  StreamLedger ledger = ComeBack();
  ledger.Close(kTask, 9);
  EXPECT_EQ(ledger.lost(), 11u + 6u);
}

TEST(StreamLedgerTest, ASnapshotOfOneThatCameBackAloneStillTellsWhatItLost) {
  StreamLedger ledger = StreamLedger::FromState(ComeBack().state(), kNow);
  const StreamPush of_client{StreamId::Session(5), 3, {}, 3};
  EXPECT_EQ(ledger.Look(of_client, kNow), LedgerAnswer::kFresh);
  EXPECT_EQ(ledger.lost(), 11u + 3u) << "nobody knows what became of sessions";
  ledger.Close(kTask, 9);
  EXPECT_EQ(ledger.lost(), 14u + 6u);
}

TEST(StreamLedgerTest, NorDoesItListenThenToALeaseOfWhichItWasNotTold) {
  const StreamLedger alone = StreamLedger::RecoverPartially(
      {}, {.open = {{kTask, {1, 1}, 0}}, .closed = {}, .term = 2}, kNow);
  StreamLedger ledger = StreamLedger::FromState(alone.state(), kNow);
  const StreamPush untold{{8}, 2, {1, 9}, 2};
  EXPECT_EQ(ledger.Look(untold, kNow), LedgerAnswer::kOldGeneration);
}

TEST(StreamLedgerTest, FencesLowerGenerations) {
  StreamLedger ledger;
  EXPECT_EQ(Push(ledger, 0, 0, {2, 1}), LedgerAnswer::kFresh);
  EXPECT_EQ(Push(ledger, 1, 0, {1, 99}), LedgerAnswer::kOldGeneration);
  EXPECT_EQ(Push(ledger, 1, 0, {2, 1}), LedgerAnswer::kFresh);
}

TEST(StreamLedgerTest, AClosedStreamIsSettledForEveryGeneration) {
  StreamLedger ledger;
  Push(ledger, 0, 0, {2, 1});
  ledger.Close(kTask, 3);
  ledger.Close(kTask, 3);
  EXPECT_EQ(Push(ledger, 2, 0, {1, 1}), LedgerAnswer::kSettled);
  EXPECT_TRUE(ledger.state().streams.empty());
  EXPECT_EQ(ledger.lost(), 0u);
}

TEST(StreamLedgerTest, SurvivesASnapshot) {
  StreamLedger ledger;
  Push(ledger, 0);
  Push(ledger, 2);
  ledger.Close({9}, 1);
  StreamLedger restored = StreamLedger::FromState(ledger.state(), kNow);
  EXPECT_EQ(Push(restored, 0), LedgerAnswer::kSettled);
  EXPECT_EQ(Push(restored, 2), LedgerAnswer::kSettled);
  EXPECT_EQ(Push(restored, 1), LedgerAnswer::kFresh);
  EXPECT_EQ(restored.Look({{9}, 0, {1, 1}, 0}, kNow), LedgerAnswer::kSettled);
}

TEST(StreamLedgerTest, SessionsExpireAndTasksDoNot) {
  StreamLedger ledger;
  const StreamPush session{StreamId::Session(1), 0, {}, 0};
  ledger.Settle((ledger.Look(session, kNow), session));
  Push(ledger, 0);
  ledger.ExpireSessions(kNow + absl::Minutes(59), absl::Hours(1));
  EXPECT_EQ(ledger.state().streams.size(), 2u);
  ledger.ExpireSessions(kNow + absl::Minutes(61), absl::Hours(1));
  EXPECT_EQ(ledger.state().streams.size(), 1u);
}

TEST(StreamLedgerTest, KeepsABoundedNumberOfSessions) {
  StreamLedger ledger;
  for (uint64_t i = 0; i < StreamLedger::kMaxSessions; ++i) {
    ASSERT_EQ(ledger.Look({StreamId::Session(i), 0, {}, 0}, kNow), LedgerAnswer::kFresh);
  }
  EXPECT_EQ(ledger.Look({StreamId::Session(1u << 30), 0, {}, 0}, kNow), LedgerAnswer::kFull);
  EXPECT_EQ(Push(ledger, 0), LedgerAnswer::kFresh);
}

}  // namespace
}  // namespace capstan
