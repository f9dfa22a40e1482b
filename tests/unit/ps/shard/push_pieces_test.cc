#include "ps/shard/push_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/rpc/limits.h"
#include "capstan/rpc/status.h"

namespace capstan::ps {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
const absl::Time kNow = absl::UnixEpoch();
const PushPieces::Sender kSender{"10.0.0.7:1", "10.0.0.7"};
const PushPieces::Sender kOther{"10.0.0.8:1", "10.0.0.8"};

v1::PushPieceRequest Piece(uint64_t trainer, uint64_t push, uint64_t size, uint64_t offset,
                           std::string bytes) {
  v1::PushPieceRequest piece;
  piece.mutable_header()->set_trainer(trainer);
  piece.set_push(push);
  piece.set_size(size);
  piece.set_offset(offset);
  piece.set_piece(std::move(bytes));
  return piece;
}

std::string TextOf(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(bytes.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) text.append(slice.begin(), slice.end());
  return text;
}

class PushPiecesTest : public testing::Test {
 protected:
  void SetLimit(size_t bytes) { memory_.of(MemoryUse::kPushPieces).SetLimit(bytes); }
  size_t held() const { return memory_.of(MemoryUse::kPushPieces).held(); }

  MemoryBudget memory_;
  PushPieces pieces_{memory_, kMaxPushBytes, PushPieces::Nameless::kProgram};
  // What owners tell a backup.
  PushPieces told_{memory_, kMaxReplicateBytes, PushPieces::Nameless::kOwner};
};

TEST_F(PushPiecesTest, GivesThePushWithItsLastPieceAndKeepsNothing) {
  for (const auto& [offset, text] : {std::pair(0, "abc"), std::pair(3, "d")}) {
    const auto taken = pieces_.Take(kSender, Piece(1, 1, 6, offset, text), kNow);
    ASSERT_TRUE(taken.ok()) << taken.status();
    EXPECT_FALSE(taken->has_value());
  }
  EXPECT_GT(held(), 0u);
  const auto whole = pieces_.Take(kSender, Piece(1, 1, 6, 4, "ef"), kNow);
  ASSERT_TRUE(whole.ok() && whole->has_value());
  EXPECT_EQ(TextOf(**whole), "abcdef");
  EXPECT_EQ(held(), 0u);
}

TEST_F(PushPiecesTest, PushesOfATrainerAndOfOthersDoNotMix) {
  ASSERT_TRUE(pieces_.Take(kSender, Piece(1, 1, 4, 0, "ab"), kNow).ok());
  ASSERT_TRUE(pieces_.Take(kSender, Piece(1, 2, 4, 0, "AB"), kNow).ok());
  ASSERT_TRUE(pieces_.Take(kSender, Piece(2, 1, 4, 0, "12"), kNow).ok());
  EXPECT_EQ(TextOf(**pieces_.Take(kSender, Piece(1, 2, 4, 2, "CD"), kNow)), "ABCD");
  EXPECT_EQ(TextOf(**pieces_.Take(kSender, Piece(2, 1, 4, 2, "34"), kNow)), "1234");
  EXPECT_EQ(TextOf(**pieces_.Take(kSender, Piece(1, 1, 4, 2, "cd"), kNow)), "abcd");
}

TEST_F(PushPiecesTest, NobodyEndsOrAddsToAPushOfAnotherConnection) {
  ASSERT_TRUE(pieces_.Take(kSender, Piece(1, 1, 4, 0, "ab"), kNow).ok());
  ASSERT_TRUE(pieces_.Take(kOther, Piece(1, 1, 4, 0, "xx"), kNow).ok());
  EXPECT_EQ(TextOf(**pieces_.Take(kSender, Piece(1, 1, 4, 2, "cd"), kNow)), "abcd");
}

TEST_F(PushPiecesTest, OneHostGetsHalfOfTheRoomWhateverTrainersItNames) {
  SetLimit(8 * kMiB);
  uint64_t taken = 0;
  for (uint64_t trainer = 1; trainer <= 8; ++trainer) {
    const PushPieces::Sender again{absl::StrCat("10.0.0.7:", trainer), "10.0.0.7"};
    const auto piece = pieces_.Take(again, Piece(trainer, 1, 2, 0, "a"), kNow);
    if (piece.ok()) ++taken;
  }
  EXPECT_EQ(taken, 4u);
  EXPECT_TRUE(pieces_.Take(kOther, Piece(9, 1, 4 * kMiB, 0, "a"), kNow).ok());
}

TEST_F(PushPiecesTest, WhatHasAGapIsSentAnew) {
  ASSERT_TRUE(pieces_.Take(kSender, Piece(1, 1, 6, 0, "ab"), kNow).ok());
  const auto gap = pieces_.Take(kSender, Piece(1, 1, 6, 4, "ef"), kNow);
  EXPECT_TRUE(absl::IsUnavailable(gap.status())) << gap.status();
  EXPECT_EQ(held(), 0u) << "what came before the gap is of no use";
  EXPECT_TRUE(absl::IsUnavailable(pieces_.Take(kSender, Piece(1, 1, 6, 2, "cd"), kNow).status()));
  ASSERT_TRUE(pieces_.Take(kSender, Piece(1, 1, 6, 0, "abc"), kNow).ok());
  EXPECT_EQ(TextOf(**pieces_.Take(kSender, Piece(1, 1, 6, 3, "def"), kNow)), "abcdef");
}

TEST_F(PushPiecesTest, WhoSendsWhatHasAGapIsCalledWhatItIs) {
  const auto gap = [](PushPieces& pieces, uint64_t trainer) {
    return std::string(
        pieces.Take(kSender, Piece(trainer, 5, 6, 4, "ef"), kNow).status().message());
  };
  EXPECT_EQ(gap(pieces_, 3),
            "the pieces of push 5 of trainer 3 before byte 4 are not here; it is to be sent anew");
  EXPECT_THAT(gap(pieces_, 0), testing::HasSubstr("push 5 of the program at 10.0.0.7 before"));
  EXPECT_THAT(gap(told_, 0), testing::HasSubstr("push 5 of the owner at 10.0.0.7 before"));
}

TEST_F(PushPiecesTest, RefusesWhatCanBeNoPiece) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  for (const v1::PushPieceRequest& piece :
       {Piece(1, 1, 0, 0, ""), Piece(1, 1, 4, 0, ""), Piece(1, 1, 4, 4, "a"),
        Piece(1, 1, 4, 3, "ab"), Piece(1, 1, 4, kMost, "ab"), Piece(1, 1, kMost, 0, "ab"),
        Piece(1, 1, uint64_t{kMaxPushBytes} + 1, 0, "ab")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(pieces_.Take(kSender, piece, kNow).status()))
        << piece.DebugString();
  }
  EXPECT_EQ(held(), 0u);
}

TEST_F(PushPiecesTest, WhatABackupIsToldMayBeLargerByTheOutcomeOfThePush) {
  const v1::PushPieceRequest piece = Piece(0, 1, uint64_t{kMaxPushBytes} + 1000, 0, "ab");
  EXPECT_TRUE(told_.Take(kSender, piece, kNow).ok());
}

// Owners would wait for their backups for ever, where clients always push something.
TEST_F(PushPiecesTest, WhatABackupIsToldFitsHoweverMuchClientsPush) {
  SetLimit(2 * kMiB);
  ASSERT_TRUE(pieces_.Take(kOther, Piece(1, 1, 2 * kMiB, 0, "a"), kNow).ok());
  EXPECT_TRUE(told_.Take(kSender, Piece(0, 1, 4 * kMiB, 0, "a"), kNow).ok());
}

TEST_F(PushPiecesTest, APushDoesNotGrowBeyondTheRoomThatWasMadeForIt) {
  ASSERT_TRUE(pieces_.Take(kSender, Piece(1, 1, 2, 0, "a"), kNow).ok());
  EXPECT_TRUE(
      absl::IsInvalidArgument(pieces_.Take(kSender, Piece(1, 1, 9 * kMiB, 1, "b"), kNow).status()));
  EXPECT_EQ(TextOf(**pieces_.Take(kSender, Piece(1, 1, 2, 1, "b"), kNow)), "ab");
}

TEST_F(PushPiecesTest, AboveTheLimitALaterOneWaitsButOneAlwaysFits) {
  SetLimit(3 * kMiB);
  ASSERT_TRUE(pieces_.Take(kSender, Piece(1, 1, 4 * kMiB, 0, "a"), kNow).ok()) << "it is alone";
  const absl::Status refused = pieces_.Take(kOther, Piece(2, 1, 2, 0, "a"), kNow).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_GT(RetryAfter(refused), absl::ZeroDuration());
  // The first one is given up by its sender, which begins anew in its place.
  ASSERT_TRUE(pieces_.Take(kSender, Piece(1, 1, 2, 0, "a"), kNow).ok());
  EXPECT_EQ(held(), kMiB) << "a small one counts so much";
  EXPECT_TRUE(pieces_.Take(kOther, Piece(2, 1, 2, 0, "a"), kNow).ok());
}

TEST_F(PushPiecesTest, WhatASenderHasGivenUpMakesRoomForWhatItSendsInItsPlace) {
  SetLimit(8 * kMiB);
  ASSERT_TRUE(pieces_.Take(kSender, Piece(1, 1, 2 * kMiB, 0, "a"), kNow).ok());
  ASSERT_TRUE(pieces_.Take(kSender, Piece(1, 2, 2 * kMiB, 0, "b"), kNow).ok());
  ASSERT_TRUE(pieces_.Take(kOther, Piece(1, 1, kMiB, 0, "c"), kNow).ok());
  v1::PushPieceRequest next = Piece(1, 3, 2 * kMiB, 0, "d");
  next.set_oldest(2);
  ASSERT_TRUE(pieces_.Take(kSender, next, kNow).ok());
  EXPECT_EQ(held(), 5 * kMiB) << "only the first is over";
  next.set_oldest(99);
  ASSERT_TRUE(pieces_.Take(kSender, next, kNow).ok());
  EXPECT_EQ(held(), 3 * kMiB) << "what is later than this one is not";
}

TEST_F(PushPiecesTest, OneWhoseSenderIsSilentIsDropped) {
  ASSERT_TRUE(pieces_.Take(kSender, Piece(1, 1, kMiB, 0, "a"), kNow).ok());
  ASSERT_TRUE(pieces_.Take(kSender, Piece(2, 1, 4, 0, "ab"), kNow + absl::Seconds(1)).ok());
  pieces_.DropSilent(kNow + PushPieces::kPatience);
  EXPECT_EQ(held(), 2 * kMiB) << "it may still come";
  pieces_.DropSilent(kNow + PushPieces::kPatience + absl::Seconds(1));
  EXPECT_EQ(held(), kMiB);
  EXPECT_TRUE(absl::IsUnavailable(pieces_.Take(kSender, Piece(1, 1, kMiB, 1, "b"), kNow).status()));
  EXPECT_EQ(TextOf(**pieces_.Take(kSender, Piece(2, 1, 4, 2, "cd"), kNow)), "abcd");
}

}  // namespace
}  // namespace capstan::ps
