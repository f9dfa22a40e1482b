// The files of a partition that is being sent here: in order, whole, and within the memory.
#include "ps/transfer/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "capstan/base/crc32c.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

// Each test says what pieces come. Nothing is decoded.
class StageTest : public testing::Test {
 protected:
  struct Sent {
    uint32_t file = 0;
    uint64_t offset = 0;
    std::string bytes;
    // With the last piece: the whole file, or whatever its sender takes for that.
    std::optional<std::string> whole = {};
    bool rest = false;
  };

  absl::Status Take(const Sent& sent, bool always_fits = false) {
    v1::TakePartitionRequest piece;
    piece.set_file(sent.file);
    piece.set_offset(sent.offset);
    piece.set_piece(sent.bytes);
    piece.set_rest(sent.rest);
    piece.set_last(sent.whole.has_value());
    if (sent.whole) piece.set_crc32c(Crc32c(*sent.whole));
    return stage_.Take(piece, memory_, always_fits);
  }
  absl::Status TakeWhole(uint32_t file, const std::string& bytes, bool rest = false) {
    return Take({.file = file, .bytes = bytes, .whole = bytes, .rest = rest});
  }
  size_t held() const { return memory_.of(MemoryUse::kMoves).held(); }

  MemoryBudget memory_;
  Stage stage_{MoveName{PartitionIndex{0}, Timeline{1}, {1, 7}}};
};

TEST_F(StageTest, AFileThatHasComeWholeIsWorkOnce) {
  ASSERT_TRUE(Take({.bytes = "abc"}).ok());
  EXPECT_TRUE(stage_.receiving());
  EXPECT_FALSE(stage_.NextWork());
  ASSERT_TRUE(Take({.offset = 3, .bytes = "de", .whole = "abcde"}).ok());
  EXPECT_FALSE(stage_.receiving());
  const std::optional<StageWork> work = stage_.NextWork();
  ASSERT_TRUE(work);
  EXPECT_EQ(work->file, "abcde");
  EXPECT_EQ(work->number, 0u);
  EXPECT_FALSE(work->rest);
  ASSERT_TRUE(Take({.offset = 3, .bytes = "de", .whole = "abcde"}).ok());
  EXPECT_FALSE(stage_.NextWork()) << "a repetition changes nothing";
}

TEST_F(StageTest, APieceThatIsAheadOfThePieceBeforeItIsRefusedAndMayComeAgain) {
  ASSERT_TRUE(Take({.bytes = "abc"}).ok());
  EXPECT_TRUE(absl::IsOutOfRange(Take({.offset = 4, .bytes = "e"})));
  EXPECT_TRUE(absl::IsOutOfRange(Take({.file = 1, .bytes = "x"}))) << "file 0 is not whole";
  ASSERT_TRUE(Take({.offset = 3, .bytes = "d", .whole = "abcd"}).ok());
  EXPECT_TRUE(absl::IsOutOfRange(Take({.file = 1, .offset = 1, .bytes = "y"})));
  const absl::Status skipped = Take({.file = 2, .bytes = "z"});
  EXPECT_EQ(skipped,
            absl::OutOfRangeError("a piece of file 2 at 0: file 0 has come up to 4, its end"));
  EXPECT_TRUE(TakeWhole(1, "xy").ok());
  EXPECT_TRUE(Take({.bytes = "abc"}).ok()) << "all of that file has been taken";
}

TEST_F(StageTest, NothingFollowsTheRest) {
  ASSERT_TRUE(TakeWhole(0, "copy").ok());
  ASSERT_TRUE(TakeWhole(1, "rest", /*rest=*/true).ok());
  EXPECT_TRUE(absl::IsOutOfRange(TakeWhole(2, "more")));
  EXPECT_TRUE(TakeWhole(1, "rest", /*rest=*/true).ok()) << "a repetition";
}

TEST_F(StageTest, PiecesOfAFileThatDisagreeAboutWhetherItIsTheRestAreRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(TakeWhole(0, "copy", /*rest=*/true)));
  ASSERT_TRUE(TakeWhole(0, "copy").ok());
  ASSERT_TRUE(Take({.file = 1, .bytes = "re", .rest = true}).ok());
  EXPECT_EQ(Take({.file = 1, .offset = 2, .bytes = "st", .whole = "rest"}),
            absl::InvalidArgumentError("file 1 is said to be the rest and not to be it"));
  EXPECT_TRUE(Take({.file = 1, .offset = 2, .bytes = "st", .whole = "rest", .rest = true}).ok());
}

TEST_F(StageTest, ThePieceForWhichThereIsNoRoomMayComeAgainAndIsTakenWhereItAlwaysFits) {
  memory_.of(MemoryUse::kMoves).SetLimit(4);
  ASSERT_TRUE(Take({.bytes = "abc"}).ok());
  ASSERT_TRUE(Take({.bytes = "abc"}).ok());
  EXPECT_EQ(held(), 3u) << "a repetition takes no memory";
  const Sent next = {.offset = 3, .bytes = "de", .whole = "abcde"};
  EXPECT_TRUE(absl::IsResourceExhausted(Take(next)));
  EXPECT_EQ(held(), 3u);
  EXPECT_EQ(stage_.bytes(), 3u);
  EXPECT_TRUE(Take(next, /*always_fits=*/true).ok());
  EXPECT_EQ(held(), 5u);
  stage_.NextWork().reset();
  EXPECT_EQ(held(), 0u) << "the memory goes with the work";
}

TEST_F(StageTest, AWrongChecksumEndsTheStage) {
  const absl::Status damaged = Take({.bytes = "abc", .whole = "abd"});
  EXPECT_TRUE(absl::IsDataLoss(damaged));
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("the checksum of 3 bytes"));
  EXPECT_EQ(TakeWhole(0, "abc"), damaged) << "whatever comes";
  EXPECT_FALSE(stage_.NextWork());
  EXPECT_FALSE(stage_.receiving());
}

TEST_F(StageTest, FilesAreDecodedOneAtATimeInTheirOrder) {
  ASSERT_TRUE(TakeWhole(0, "copy").ok());
  ASSERT_TRUE(TakeWhole(1, "rest!", /*rest=*/true).ok());
  EXPECT_EQ(stage_.bytes(), 9u);
  std::optional<StageWork> first = stage_.NextWork();
  ASSERT_TRUE(first);
  EXPECT_TRUE(stage_.working());
  EXPECT_FALSE(stage_.NextWork()) << "the first is under way";
  stage_.End(*std::move(first), absl::OkStatus());
  EXPECT_TRUE(stage_.HasDecoded(0));
  EXPECT_FALSE(stage_.HasDecoded(1));
  EXPECT_EQ(stage_.bytes(), 5u);
  std::optional<StageWork> second = stage_.NextWork();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->file, "rest!");
  EXPECT_FALSE(stage_.decoded());
  stage_.End(*std::move(second), absl::OkStatus());
  EXPECT_TRUE(stage_.decoded());
}

TEST_F(StageTest, AFileThatCannotBeDecodedEndsTheStage) {
  ASSERT_TRUE(TakeWhole(0, "copy").ok());
  ASSERT_TRUE(TakeWhole(1, "rest", /*rest=*/true).ok());
  std::optional<StageWork> work = stage_.NextWork();
  ASSERT_TRUE(work);
  stage_.End(*std::move(work), absl::DataLossError("damaged"));
  EXPECT_FALSE(stage_.HasDecoded(0));
  EXPECT_FALSE(stage_.NextWork());
  EXPECT_EQ(TakeWhole(1, "rest", /*rest=*/true), absl::DataLossError("damaged"));
}

TEST_F(StageTest, WhatCameWithTheLastPieceOfTheRestIsKeptWithoutItsBytes) {
  ASSERT_TRUE(TakeWhole(0, "copy").ok());
  v1::TakePartitionRequest last;
  last.set_file(1);
  last.set_rest(true);
  last.set_piece("rest");
  last.set_last(true);
  last.set_crc32c(Crc32c("rest"));
  last.mutable_passed()->set_round(6);
  ASSERT_TRUE(stage_.Take(last, memory_, /*always_fits=*/false).ok());
  EXPECT_EQ(stage_.state().passed().round(), 6u);
  EXPECT_EQ(stage_.state().piece(), "");
}

}  // namespace
}  // namespace capstan::ps
