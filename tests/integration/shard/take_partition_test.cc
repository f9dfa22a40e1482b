// Pieces of a partition as another shard should not send them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/crc32c.h"
#include "capstan/checkpoint/partition_file.h"
#include "ps/partition/machine_state.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/raw_shard.h"
#include "tests/integration/shard/test_moves.h"

namespace capstan {
namespace {

using testing::HasSubstr;

constexpr uint32_t kPartition = 1;
constexpr size_t kCut = 100;  // Where the files are cut in two.

// The second shard sends its raw pieces to the first one.
class TakePartitionTest : public RawShardTest {
 protected:
  TakePartitionTest() : RawShardTest(2) {
    shards_.Change([](v1::View& view) { view.set_owners(kPartition, 1); });
    shards_.at(0).shard().contents().Leave(PartitionIndex{kPartition});
    Announce(shards_, move_);
    store_ = *PartitionStore::Create(shards_.job(), Layout(), PartitionIndex{kPartition});
    copy_ = File("");
    store_->Mark(/*changes_only=*/false);
    store_->Unmark();
    store_->SettleMark(/*safe=*/true);
    rest_ = File(NameOf(0));
  }

  // What a file of the move is called by the next one.
  std::string NameOf(uint32_t file) const {
    return absl::StrCat("move-", move_.id.term(), "-", move_.id.n(), "-", file);
  }

  const DenseLayout& Layout() { return shards_.at(0).shard().catalog().layout(); }

  std::string File(const std::string& parent) {
    return EncodePartition(*store_, {.partition_count = 8,
                                     .timeline = 1,
                                     .machine = ps::EncodeMachineState({}),
                                     .parent = parent});
  }

  // The first or the last part of the copy or of the rest, which comes after so many deltas.
  v1::TakePartitionRequest Piece(bool rest, bool last) const {
    v1::TakePartitionRequest piece = PieceOf(rest ? rest_ : copy_, last);
    piece.set_file(rest ? deltas_ + 1 : 0);
    piece.set_rest(rest);
    return piece;
  }
  v1::TakePartitionRequest PieceOf(const std::string& file, bool last) const {
    v1::TakePartitionRequest piece;
    SetHeader(*piece.mutable_header());
    piece.set_partition(kPartition);
    *piece.mutable_move() = move_.id;
    piece.set_offset(last ? kCut : 0);
    piece.set_piece(last ? file.substr(kCut) : file.substr(0, kCut));
    piece.set_last(last);
    if (last) piece.set_crc32c(Crc32c(file));
    return piece;
  }

  absl::StatusOr<bool> Take(const v1::TakePartitionRequest& piece) {
    const absl::StatusOr<std::string> answer = Call("TakePartition", piece.SerializeAsString());
    v1::TakePartitionReply reply;
    if (!answer.ok()) return answer.status();
    EXPECT_TRUE(reply.ParseFromString(*answer));
    return reply.complete();
  }
  absl::StatusCode CodeOf(const v1::TakePartitionRequest& piece) {
    return Take(piece).status().code();
  }
  // Sends the last piece of the rest until there is another answer than "not yet".
  absl::StatusOr<bool> TakeLast(const v1::TakePartitionRequest& piece) {
    for (;;) {
      const absl::StatusOr<bool> complete = Take(piece);
      if (!complete.ok() || *complete) return complete;
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  // Sends the rest until the copy is found to be none.
  absl::Status AwaitFailure() {
    if (absl::Status first = Take(Piece(true, false)).status(); !first.ok()) return first;
    return TakeLast(Piece(true, true)).status();
  }
  // So many deltas, until each is applied.
  void TakeDeltas(uint32_t count) {
    for (; deltas_ < count; ++deltas_) {
      const std::string delta = File(NameOf(deltas_));
      for (const bool last : {false, true}) {
        v1::TakePartitionRequest piece = PieceOf(delta, last);
        piece.set_file(deltas_ + 1);
        ASSERT_TRUE((last ? TakeLast(piece) : Take(piece)).ok());
      }
    }
    rest_ = File(NameOf(deltas_));
  }
  void TakeCopy() {
    for (const bool last : {false, true}) {
      const absl::Status taken = Take(Piece(false, last)).status();
      ASSERT_TRUE(taken.ok()) << taken;
    }
  }

  TestMove move_{{kPartition}, 1, 0};
  std::unique_ptr<PartitionStore> store_;
  uint32_t deltas_ = 0;
  std::string copy_;
  std::string rest_;
};

TEST_F(TakePartitionTest, PiecesThatComeTwiceChangeNothing) {
  for (const bool rest : {false, true}) {
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(Take(Piece(rest, false)).ok());
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(Take(Piece(rest, true)).ok());
    ASSERT_TRUE(Take(Piece(rest, false)).ok()) << "late";
  }
  ASSERT_TRUE(Take(Piece(false, true)).ok()) << "very late";
  const absl::StatusOr<bool> complete = TakeLast(Piece(true, true));
  ASSERT_TRUE(complete.ok()) << complete.status();
  EXPECT_FALSE(shards_.at(0).shard().partitions()[PartitionIndex{kPartition}].loaded());
  shards_.Change([&](v1::View& view) { Switch(view, move_); });
  EXPECT_TRUE(shards_.at(0).shard().partitions()[PartitionIndex{kPartition}].loaded());
  EXPECT_EQ(CodeOf(Piece(true, true)), absl::StatusCode::kFailedPrecondition) << "it is over";
}

TEST_F(TakePartitionTest, DeltasComeBetweenCopyAndRestEachAfterTheOneBefore) {
  TakeCopy();
  TakeDeltas(3);
  const std::string late = File(NameOf(1));
  v1::TakePartitionRequest piece = PieceOf(late, /*last=*/false);
  piece.set_file(2);
  EXPECT_TRUE(Take(piece).ok()) << "it has been taken before";
  piece.set_file(5);
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kOutOfRange) << "the fourth is missing";
  piece = PieceOf(late, /*last=*/true);
  piece.set_file(4);
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kOutOfRange) << "its first piece is missing";
  ASSERT_TRUE(Take(Piece(true, false)).ok());
  piece = Piece(true, true);
  piece.set_rest(false);
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kInvalidArgument) << "is it the rest?";
  EXPECT_TRUE(TakeLast(Piece(true, true)).ok());
  piece = PieceOf(File(NameOf(4)), /*last=*/false);
  piece.set_file(5);
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kOutOfRange) << "nothing comes after the rest";
  shards_.Change([&](v1::View& view) { Switch(view, move_); });
  EXPECT_TRUE(shards_.at(0).shard().partitions()[PartitionIndex{kPartition}].loaded());
}

TEST_F(TakePartitionTest, ADeltaToAnotherFileThanTheOneBeforeIsRefused) {
  TakeCopy();
  TakeDeltas(1);
  const std::string skips = File(NameOf(0));  // To the copy, as if the delta had not come.
  v1::TakePartitionRequest piece = PieceOf(skips, /*last=*/false);
  piece.set_file(2);
  ASSERT_TRUE(Take(piece).ok());
  piece = PieceOf(skips, /*last=*/true);
  piece.set_file(2);
  EXPECT_TRUE(absl::IsDataLoss(TakeLast(piece).status()));
}

TEST_F(TakePartitionTest, AnEmptyLastPieceAsksWhetherAFileIsApplied) {
  TakeCopy();
  v1::TakePartitionRequest piece = Piece(false, true);
  piece.set_offset(copy_.size());
  piece.clear_piece();
  EXPECT_TRUE(TakeLast(piece).ok());
}

TEST_F(TakePartitionTest, WhatTheViewDoesNotNameIsRefused) {
  v1::TakePartitionRequest piece = Piece(false, false);
  piece.set_partition(2);
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kFailedPrecondition);
  piece.set_partition(8);
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kInvalidArgument);
  piece = Piece(false, false);
  piece.mutable_move()->set_n(1);
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kFailedPrecondition);
  piece = Piece(false, false);
  piece.mutable_header()->set_timeline(2);
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kFailedPrecondition);
  piece = Piece(false, false);
  piece.mutable_header()->set_target_incarnation(3);
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kFailedPrecondition);
}

TEST_F(TakePartitionTest, PiecesOutOfPlaceAreRefused) {
  EXPECT_EQ(CodeOf(Piece(false, true)), absl::StatusCode::kOutOfRange) << "the first is missing";
  EXPECT_EQ(CodeOf(Piece(true, false)), absl::StatusCode::kOutOfRange) << "so is the copy";
  ASSERT_TRUE(Take(Piece(false, false)).ok());
  v1::TakePartitionRequest piece = Piece(false, true);
  for (const uint64_t offset :
       {uint64_t{kCut - 1}, uint64_t{kCut + 1}, uint64_t{1} << 40,
        std::numeric_limits<uint64_t>::max() - 1, std::numeric_limits<uint64_t>::max()}) {
    piece.set_offset(offset);
    EXPECT_EQ(CodeOf(piece), absl::StatusCode::kOutOfRange) << offset;
  }
  piece = Piece(false, false);
  piece.set_piece("");
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kInvalidArgument);
  piece.set_piece(std::string((2 << 20) + 1, 'x'));
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(Take(Piece(false, true)).ok()) << "and all is well";
  piece = Piece(false, true);
  piece.set_offset(copy_.size());
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kOutOfRange) << "behind the end";
}

TEST_F(TakePartitionTest, AFileThatIsNotWhatItSaysIsDataLossAndStaysSo) {
  ASSERT_TRUE(Take(Piece(false, false)).ok());
  v1::TakePartitionRequest piece = Piece(false, true);
  piece.set_crc32c(piece.crc32c() + 1);
  EXPECT_EQ(CodeOf(piece), absl::StatusCode::kDataLoss);
  EXPECT_EQ(CodeOf(Piece(false, true)), absl::StatusCode::kDataLoss);
  shards_.Change(Cancel);
  Announce(shards_, move_);
  TakeCopy();
}

TEST_F(TakePartitionTest, ARestOfAnotherCopyIsRefused) {
  TakeCopy();
  rest_ = File("move-7-7");
  ASSERT_TRUE(Take(Piece(true, false)).ok());
  const absl::Status refused = TakeLast(Piece(true, true)).status();
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("move-7-7"));
  shards_.Change([&](v1::View& view) { Switch(view, move_); });
  EXPECT_FALSE(shards_.at(0).shard().partitions()[PartitionIndex{kPartition}].loaded());
}

TEST_F(TakePartitionTest, ACopyOfAnotherPartitionOrOfNothingIsRefused) {
  store_ = *PartitionStore::Create(shards_.job(), Layout(), PartitionIndex{2});
  copy_ = File("");
  TakeCopy();
  EXPECT_TRUE(absl::IsFailedPrecondition(AwaitFailure()));
  shards_.Change(Cancel);
  Announce(shards_, move_);
  copy_ = std::string(1000, 'x');
  TakeCopy();
  EXPECT_TRUE(absl::IsDataLoss(AwaitFailure()));
}

TEST_F(TakePartitionTest, ARestThatIsWholeTakesThePlaceOfTheCopy) {
  TakeCopy();
  rest_ = copy_;
  ASSERT_TRUE(Take(Piece(true, false)).ok());
  EXPECT_TRUE(TakeLast(Piece(true, true)).ok());
}

TEST_F(TakePartitionTest, ACoordinatorThatNobodyExpectsIsRefused) {
  TakeCopy();
  ASSERT_TRUE(Take(Piece(true, false)).ok());
  v1::TakePartitionRequest piece = Piece(true, true);
  piece.mutable_coordinator()->add_lanes();
  EXPECT_TRUE(absl::IsDataLoss(TakeLast(piece).status()));
}

TEST_F(TakePartitionTest, MemoryIsBoundedAndOnePartitionAlwaysFits) {
  shards_.at(0).shard().memory().of(MemoryUse::kMoves).SetLimit(10);
  TestMove both{{kPartition, 2}, 1, 0};
  shards_.Change([](v1::View& view) { view.set_owners(2, 1); });
  shards_.Change(Cancel);
  Announce(shards_, both);
  move_.id = both.id;
  v1::TakePartitionRequest other = Piece(false, false);
  other.set_partition(2);
  ASSERT_TRUE(Take(Piece(false, false)).ok()) << "it is the first";
  EXPECT_EQ(CodeOf(other), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(Take(Piece(false, true)).ok());
}

}  // namespace
}  // namespace capstan
