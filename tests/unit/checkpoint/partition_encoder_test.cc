#include "capstan/checkpoint/partition_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

const PartitionFileOptions& Encoding() {
  static const auto& options = *new PartitionFileOptions{
      .partition_count = 2, .timeline = 5, .machine = {.version = 2, .bytes = "ledger"}};
  return options;
}

void PushOnce(PartitionStore& store, const std::vector<uint64_t>& keys) {
  const std::vector<float> values(keys.size() * 2, 0.25f);
  RowGradients gradient;
  gradient.keys = keys;
  gradient.values = values;
  store.FindTable(TableId{1})->Apply({&gradient, 1}, {.progress_examples = 4096});
}

struct InPieces {
  std::string file;
  size_t pieces = 0;
  size_t largest = 0;
  uint64_t rows = 0;
};

// Encodes a marked store; `between` is called before each read.
InPieces EncodeInPieces(
    PartitionStore& store, const PartitionFileOptions& options,
    const std::function<void()>& between = [] {}) {
  InPieces result;
  PartitionEncoder encoder(options);
  while (encoder.Prepare()) {
    const std::string piece = encoder.TakePiece();
    result.pieces += piece.empty() ? 0 : 1;
    result.largest = std::max(result.largest, piece.size());
    result.file += piece;
    between();
    encoder.Read(store);
  }
  result.rows = encoder.rows();
  result.file += std::move(encoder).TakeRest();
  return result;
}

TEST(PartitionEncoderTest, ThePiecesAreTheFileAndNoneIsLarge) {
  const auto store = SmallPartition(/*rows=*/60'000);
  store->Mark(/*changes_only=*/false);
  const InPieces encoded = EncodeInPieces(*store, Encoding());
  store->SettleMark(/*safe=*/false);
  EXPECT_TRUE(encoded.file == EncodedSmallPartition(/*rows=*/60'000));
  EXPECT_EQ(encoded.rows, 60'000u);
  EXPECT_GE(encoded.pieces, 2u);
  EXPECT_LT(encoded.largest, size_t{4} << 20);
}

TEST(PartitionEncoderTest, TheFileIsAsOfTheMarkWhateverIsPushedMeanwhile) {
  const auto store = SmallPartition(/*rows=*/5000);
  store->Mark(/*changes_only=*/false);
  uint64_t pushed = 0;
  const InPieces encoded = EncodeInPieces(*store, Encoding(), [&] {
    // Rows that are there, in both ends of the order, and new ones.
    PushOnce(*store, {1, 4'999'001, 2'000'001 + 1000 * pushed, 7 + pushed});
    PushOnce(*store, {7 + pushed});
    ++pushed;
  });
  EXPECT_TRUE(encoded.file == EncodedSmallPartition(/*rows=*/5000));
  EXPECT_GT(pushed, 3u);
  store->SettleMark(/*safe=*/false);
  EXPECT_FALSE(EncodePartition(*store, Encoding()) == encoded.file) << "the next one has them";
}

TEST(PartitionEncoderTest, ADeltaOfNothingHoldsNoRowsAndNoBlocks) {
  const auto store = SmallPartition();
  store->Mark(/*changes_only=*/false);
  store->SettleMark(/*safe=*/true);
  PartitionFileOptions options = Encoding();
  options.parent = "100-a";
  store->Mark(/*changes_only=*/true);
  const InPieces delta = EncodeInPieces(*store, options);
  store->SettleMark(/*safe=*/false);
  EXPECT_EQ(delta.rows, 0u);
  const v1::JobSpec job = SmallJob();
  DecodedPartition partition =
      *DecodePartition(EncodedSmallPartition(), job, LayoutOf(job), PartitionIndex{1});
  ASSERT_TRUE(ApplyDelta(delta.file, job, "100-a", partition).ok());
  EXPECT_TRUE(EncodePartition(*partition.store, Encoding()) == EncodedSmallPartition());
}

TEST(PartitionEncoderTest, AnEmptyPartitionIsAFile) {
  const v1::JobSpec job = SmallJob();
  const auto store = *PartitionStore::Create(job, LayoutOf(job), PartitionIndex{1});
  store->Mark(/*changes_only=*/false);
  const InPieces encoded = EncodeInPieces(*store, Encoding());
  store->SettleMark(/*safe=*/false);
  EXPECT_EQ(encoded.rows, 0u);
  EXPECT_EQ(encoded.pieces, 0u);
  EXPECT_TRUE(DecodePartition(encoded.file, job, LayoutOf(job), PartitionIndex{1}).ok());
}

TEST(PartitionEncoderTest, APartitionOnItsWayIsTheSamePartition) {
  const auto store = SmallPartition(/*rows=*/100);
  PartitionFileOptions options = Encoding();
  options.moved = true;
  const std::string moved = EncodePartition(*store, options);
  const v1::JobSpec job = SmallJob();
  const auto decoded = DecodePartition(moved, job, LayoutOf(job), PartitionIndex{1});
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(EncodePartition(*decoded->store, Encoding()) == EncodedSmallPartition(100));
}

TEST(PartitionEncoderDeathTest, ThereIsNoRestBeforeTheEnd) {
  PartitionEncoder encoder(Encoding());
  ASSERT_TRUE(encoder.Prepare());
  EXPECT_DEATH((void)std::move(encoder).TakeRest(), "kEnd");
}

}  // namespace
}  // namespace capstan
