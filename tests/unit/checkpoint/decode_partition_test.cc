#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/checkpoint/blocks.h"
#include "capstan/checkpoint/partition_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

absl::StatusOr<DecodedPartition> Decode(std::string_view file, const v1::JobSpec& job = SmallJob(),
                                        PartitionIndex partition = PartitionIndex{1}) {
  return DecodePartition(file, job, LayoutOf(job), partition);
}

TEST(PartitionFileTest, GivesBackEverything) {
  const absl::StatusOr<DecodedPartition> decoded = Decode(EncodedSmallPartition());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->timeline, 5u);
  EXPECT_EQ(decoded->machine.version, 2u);
  EXPECT_EQ(decoded->machine.bytes, "ledger");
  EXPECT_EQ(decoded->store->row_count(), 3u);
  const Table& table = *decoded->store->FindTable(TableId{1});
  EXPECT_EQ(table.progress_examples(), 2048u);
  std::vector<uint64_t> candidates;
  table.ForEachCandidate([&](const Candidate& candidate) { candidates.push_back(candidate.key); });
  EXPECT_THAT(candidates, testing::ElementsAre(77));
}

TEST(PartitionFileTest, IsTheSameBytesAfterARestore) {
  const std::string file = EncodedSmallPartition(/*rows=*/2000);
  const DecodedPartition decoded = *Decode(file);
  EXPECT_EQ(EncodePartition(
                *decoded.store,
                {.partition_count = 2, .timeline = decoded.timeline, .machine = decoded.machine}),
            file);
}

TEST(PartitionFileTest, HoldsRowsOfSeveralBlocks) {
  const std::string file = EncodedSmallPartition(/*rows=*/60'000);
  EXPECT_GT(file.size(), 2u << 20);
  EXPECT_EQ(Decode(file)->store->row_count(), 60'000u);
}

TEST(PartitionFileTest, FindsEveryFlippedBit) {
  const std::string file = EncodedSmallPartition();
  for (size_t i = 0; i < file.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      ASSERT_FALSE(Decode(damaged).ok()) << "byte " << i << ", bit " << bit;
    }
  }
}

TEST(PartitionFileTest, FindsEveryMissingByteAndEveryCut) {
  const std::string file = EncodedSmallPartition();
  for (size_t i = 0; i < file.size(); ++i) {
    std::string without = file;
    without.erase(i, 1);
    ASSERT_FALSE(Decode(without).ok()) << i;
    ASSERT_FALSE(Decode(file.substr(0, i)).ok()) << i;
  }
  EXPECT_EQ(Decode(file + "x").status().code(), absl::StatusCode::kDataLoss);
}

TEST(PartitionFileTest, FindsABlockThatIsMissing) {
  // The machine block: 12 bytes of front, 4 of version, "ledger", 4 of checksum, behind the
  // header's.
  std::string file = EncodedSmallPartition();
  const size_t at = file.find("ledger") - 16;
  file.erase(at, 12 + 4 + 6 + 4);
  EXPECT_THAT(std::string(Decode(file).status().message()), testing::HasSubstr("out of place"));
}

// The file with these payloads in the place of its own, under checksums that agree.
using Payloads = std::vector<std::pair<BlockKind, std::string>>;

Payloads PayloadsOf(std::string_view file) {
  BlockReader reader = *BlockReader::Open(file);
  Payloads payloads;
  for (BlockView block = *reader.Next(); block.kind != BlockKind::kEnd; block = *reader.Next()) {
    payloads.emplace_back(block.kind, block.payload);
  }
  return payloads;
}

std::string FileOf(const Payloads& payloads) {
  BlockWriter writer;
  for (const auto& [kind, payload] : payloads) {
    writer.Begin(kind);
    writer.bytes() += payload;
    writer.Finish();
  }
  return std::move(writer).TakeFile();
}

std::string& FirstOf(BlockKind kind, Payloads& payloads) {
  for (auto& [other, payload] : payloads) {
    if (other == kind) return payload;
  }
  ADD_FAILURE() << "no such block";
  return payloads.front().second;
}

void ExpectDamage(const Payloads& payloads, const char* why) {
  const absl::Status status = Decode(FileOf(payloads)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(why));
}

constexpr size_t kRowsAt = 24;            // In a table's header.
constexpr size_t kCountBytes = 4;         // In front of the rows of a block,
constexpr size_t kRowBytes = 20 + 7 * 4;  // each with key, frequency, touched; weights, Adam's.

TEST(PartitionFileTest, ANumberOfRowsThatLiesIsDamage) {
  Payloads payloads = PayloadsOf(EncodedSmallPartition());
  ASSERT_TRUE(Decode(FileOf(payloads)).ok());
  FirstOf(BlockKind::kTableHeader, payloads)[kRowsAt] = 2;
  ExpectDamage(payloads, "number of rows");
  FirstOf(BlockKind::kTableHeader, payloads)[kRowsAt] = 4;
  ExpectDamage(payloads, "in the place of the rows");
}

TEST(PartitionFileTest, ARowThatOccursTwiceIsDamage) {
  Payloads payloads = PayloadsOf(EncodedSmallPartition());
  std::string& rows = FirstOf(BlockKind::kRows, payloads);
  ASSERT_EQ(rows.size(), kCountBytes + 3 * kRowBytes);
  rows.replace(kCountBytes, kRowBytes, rows.substr(kCountBytes + kRowBytes, kRowBytes));
  ExpectDamage(payloads, "occurs twice");
}

TEST(PartitionFileTest, ADenseBlockThatOccursTwiceIsDamage) {
  v1::JobSpec job = SmallJob();
  job.set_partition_count(1);  // Both tensors are in it.
  const auto store = *PartitionStore::Create(job, LayoutOf(job), PartitionIndex{0});
  Payloads payloads = PayloadsOf(EncodePartition(*store, {.partition_count = 1}));
  ASSERT_EQ(payloads.back().first, BlockKind::kDense);
  payloads.back().second = FirstOf(BlockKind::kDense, payloads);
  const absl::Status status = Decode(FileOf(payloads), job, PartitionIndex{0}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("occurs twice"));
}

TEST(PartitionFileTest, APartitionWithoutRowsComesBack) {
  const std::string file = EncodedSmallPartition(/*rows=*/0);
  const absl::StatusOr<DecodedPartition> decoded = Decode(file);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->store->row_count(), 0u);
}

TEST(PartitionFileTest, RefusesANewerFormatByName) {
  std::string file = EncodedSmallPartition();
  file[7] = 2;
  const absl::Status status = Decode(file).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("format 2"));
}

void ExpectOtherModel(const v1::JobSpec& job, PartitionIndex partition = PartitionIndex{1}) {
  EXPECT_EQ(Decode(EncodedSmallPartition(), job, partition).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(PartitionFileTest, RefusesAnotherPartitionOrModel) {
  ExpectOtherModel(SmallJob(), PartitionIndex{0});
  v1::JobSpec job = SmallJob();
  job.mutable_tables(0)->set_id(2);
  ExpectOtherModel(job);
  job = SmallJob();
  job.mutable_tables(0)->set_dim(3);
  job.mutable_tables(0)->mutable_segments(0)->set_width(3);
  ExpectOtherModel(job);
  job = SmallJob();
  job.mutable_tables(0)->mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  ExpectOtherModel(job);
  job = SmallJob();
  job.mutable_tensors(1)->set_shape(0, 4);
  ExpectOtherModel(job);
  job = SmallJob();
  job.mutable_tables()->RemoveLast();
  ExpectOtherModel(job);
}

TEST(PartitionFileTest, TakesAdamStateOnInAdamW) {
  v1::JobSpec job = SmallJob();
  job.mutable_tables(0)->mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_ADAMW);
  EXPECT_TRUE(Decode(EncodedSmallPartition(), job).ok());
}

// Fields of a table's header, and of an entry of a block of candidates.
constexpr size_t kCandidatesAt = kRowsAt + 8;
constexpr size_t kRowsAfterAt = kCandidatesAt + 8;  // Only in a delta, and so is the next.
constexpr size_t kErasedAt = kRowsAfterAt + 8;

TEST(PartitionFileTest, MoreCandidatesThanTheTableSaysAreDamage) {
  Payloads payloads = PayloadsOf(EncodedSmallPartition());
  std::string& candidates = FirstOf(BlockKind::kCandidates, payloads);
  ASSERT_EQ(FirstOf(BlockKind::kTableHeader, payloads)[kCandidatesAt], 1);
  std::string another = candidates.substr(kCountBytes);
  another[0] = 78;
  candidates += another;
  candidates[0] = 2;
  ExpectDamage(payloads, "number of candidates");
  FirstOf(BlockKind::kTableHeader, payloads)[kCandidatesAt] = 2;
  EXPECT_TRUE(Decode(FileOf(payloads)).ok()) << "two that are announced";
}

absl::Status Applied(const Payloads& payloads) {
  DecodedPartition partition = *Decode(EncodedSmallPartition());
  return ApplyDelta(FileOf(payloads), SmallJob(), "100-a", partition);
}

TEST(PartitionFileTest, MoreErasedKeysThanADeltaSaysAreDamage) {
  Payloads payloads = PayloadsOf(EncodedSmallDelta());
  ASSERT_TRUE(Applied(payloads).ok());
  std::string keys(kCountBytes + 2 * 8, '\0');
  keys[0] = 2;
  keys[kCountBytes] = 5;  // No row has the keys 5 and 6.
  keys[kCountBytes + 8] = 6;
  size_t header = 0;
  while (payloads[header].first != BlockKind::kTableHeader) ++header;
  payloads.insert(payloads.begin() + static_cast<std::ptrdiff_t>(header) + 1,
                  {BlockKind::kErased, keys});
  payloads[header].second[kErasedAt] = 1;
  const absl::Status one = Applied(payloads);
  EXPECT_EQ(one.code(), absl::StatusCode::kDataLoss) << one;
  EXPECT_THAT(std::string(one.message()), testing::HasSubstr("number of erased keys"));
  payloads[header].second[kErasedAt] = 2;
  EXPECT_TRUE(Applied(payloads).ok());
}

TEST(PartitionFileTest, MoreRowsThanADeltaSaysAreDamageThoughTheyAddUp) {
  Payloads payloads = PayloadsOf(EncodedSmallDelta());
  std::string& rows = FirstOf(BlockKind::kRows, payloads);
  ASSERT_EQ(rows.size(), kCountBytes + kRowBytes);
  std::string another = rows.substr(kCountBytes);
  another[0] = 5;  // The lowest byte of a key that has no row.
  rows += another;
  rows[0] = 2;
  std::string& header = FirstOf(BlockKind::kTableHeader, payloads);
  ++header[kRowsAfterAt];
  const absl::Status one = Applied(payloads);
  EXPECT_EQ(one.code(), absl::StatusCode::kDataLoss) << one;
  EXPECT_THAT(std::string(one.message()), testing::HasSubstr("number of rows"));
  header[kRowsAt] = 2;
  EXPECT_TRUE(Applied(payloads).ok());
}

TEST(PartitionFileTest, EmptyBlocksAndCutEntriesAreDamage) {
  for (const BlockKind kind : {BlockKind::kRows, BlockKind::kCandidates}) {
    Payloads empty = PayloadsOf(EncodedSmallPartition());
    FirstOf(kind, empty).assign(kCountBytes, '\0');
    ExpectDamage(empty, "a block of");
    Payloads cut = PayloadsOf(EncodedSmallPartition());
    FirstOf(kind, cut).pop_back();
    ExpectDamage(cut, "a block of");
    Payloads huge = PayloadsOf(EncodedSmallPartition());
    FirstOf(kind, huge).replace(0, kCountBytes, "\xFF\xFF\xFF\xFF");
    ExpectDamage(huge, "a block of");
  }
}

TEST(PartitionFileTest, ADenseBlockWithOtherSlotsThanItsOptimizerHasIsDamage) {
  constexpr size_t kSlotsAt = 20;  // Behind id, tensor, offset and length.
  Payloads payloads = PayloadsOf(EncodedSmallPartition());
  std::string& block = FirstOf(BlockKind::kDense, payloads);
  --block[kSlotsAt];
  block.resize(block.size() - sizeof(float));
  ExpectDamage(payloads, "");
}

TEST(PartitionFileTest, AContentThatOnlyALaterVersionKnowsIsNamed) {
  constexpr size_t kContentAt = 16;  // Behind partition, count and timeline.
  Payloads payloads = PayloadsOf(EncodedSmallPartition());
  FirstOf(BlockKind::kHeader, payloads)[kContentAt] = 9;
  const absl::Status status = Decode(FileOf(payloads)).status();
  EXPECT_EQ(status, absl::FailedPreconditionError("content 9 of partition files is not known"));
}

TEST(IsFullPartitionTest, TellsADeltaAndWhatIsNoFileFromAWholePartition) {
  const std::string whole = EncodedSmallPartition();
  EXPECT_TRUE(IsFullPartition(whole));
  EXPECT_FALSE(IsFullPartition(EncodedSmallDelta()));
  for (const std::string& other : {std::string(), whole.substr(0, 20), std::string("PAR1")}) {
    EXPECT_FALSE(IsFullPartition(other));
  }
  std::string damaged = whole;
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  EXPECT_FALSE(IsFullPartition(damaged)) << "in its header";
}

}  // namespace
}  // namespace capstan
