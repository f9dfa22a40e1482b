#include "capstan/consistency/stream_ledger.h"

#include <gtest/gtest.h>

#include <set>

#include "capstan/base/hash.h"

namespace capstan {
namespace {

constexpr absl::Time kNow = absl::UnixEpoch();
constexpr StreamId kTask{5};

LedgerAnswer Push(StreamLedger& ledger, uint64_t seq, uint64_t low_mark = 0,
                  Generation generation = {1, 1}) {
  const StreamPush push{kTask, seq, generation, low_mark};
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

TEST(StreamLedgerTest, ALowMarkAboveTheSeqDoesNotSettleIt) {
  StreamLedger ledger;
  EXPECT_EQ(Push(ledger, 3, /*low_mark=*/9), LedgerAnswer::kFresh);
}

TEST(StreamLedgerTest, ALowMarkFarAboveClearsTheWindow) {
  StreamLedger ledger;
  Push(ledger, 1);
  EXPECT_EQ(Push(ledger, 1000, /*low_mark=*/1000), LedgerAnswer::kFresh);
  EXPECT_EQ(Push(ledger, 999, 0), LedgerAnswer::kSettled);
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
  EXPECT_EQ(ledger.open_streams(), 0u);
  EXPECT_EQ(ledger.lost(), 0u);
}

TEST(StreamLedgerTest, SurvivesASnapshot) {
  StreamLedger ledger;
  Push(ledger, 0);
  Push(ledger, 2);
  ledger.Close({9}, 1);
  StreamLedger restored = StreamLedger::FromState(ledger.state(), kNow, /*alone=*/false);
  EXPECT_EQ(Push(restored, 0), LedgerAnswer::kSettled);
  EXPECT_EQ(Push(restored, 2), LedgerAnswer::kSettled);
  EXPECT_EQ(Push(restored, 1), LedgerAnswer::kFresh);
  EXPECT_TRUE(restored.IsClosed({9}));
}

TEST(StreamLedgerTest, SessionsExpireAndTasksDoNot) {
  StreamLedger ledger;
  const StreamPush session{StreamId::Session(1), 0, {}, 0};
  ledger.Settle((ledger.Look(session, kNow), session));
  Push(ledger, 0);
  ledger.ExpireSessions(kNow + absl::Minutes(59), absl::Hours(1));
  EXPECT_EQ(ledger.open_streams(), 2u);
  ledger.ExpireSessions(kNow + absl::Minutes(61), absl::Hours(1));
  EXPECT_EQ(ledger.open_streams(), 1u);
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
