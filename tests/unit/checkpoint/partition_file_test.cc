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

}  // namespace
}  // namespace capstan
