#include "capstan/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

using testing::HasSubstr;

TEST(PartitionFileNameTest, SortsAsThePartitionsDo) {
  EXPECT_EQ(PartitionFileName(PartitionIndex{0}), "partition-0000.capstan");
  EXPECT_EQ(PartitionFileName(PartitionIndex{7}), "partition-0007.capstan");
  EXPECT_EQ(PartitionFileName(PartitionIndex{12345}), "partition-12345.capstan");
}

TEST(CheckpointBesideTest, ReplacesTheLastName) {
  EXPECT_EQ(CheckpointBeside("s3://bucket/ctr/9-a", "10-b"), "s3://bucket/ctr/10-b");
  EXPECT_EQ(CheckpointBeside("/out/9-a/", "10-b"), "/out/10-b");
  EXPECT_EQ(CheckpointBeside("/out/9-a///", "10-b"), "/out/10-b");
  EXPECT_EQ(CheckpointBeside("9-a", "10-b"), "10-b");
  EXPECT_EQ(CheckpointBeside("/9-a", "10-b"), "/10-b");
}

TEST(CheckObjectBytesTest, AnObjectHasTheBytesOfItsFilesTogether) {
  v1::SavedFile file;
  file.set_name("partition-0000.capstan");
  file.set_bytes(1000);
  EXPECT_EQ(ObjectBytes(file), 1000u) << "of one file";
  EXPECT_TRUE(CheckObjectBytes(file, 1000).ok());
  file.set_object_bytes(2001);
  EXPECT_EQ(ObjectBytes(file), 2001u);
  EXPECT_EQ(CheckObjectBytes(file, 1000),
            absl::DataLossError("partition-0000.capstan has 1000 bytes, the manifest names 2001"));
}

class ReadPartitionFileTest : public testing::Test {
 protected:
  absl::Status Read(const v1::SavedFile& file) {
    const v1::JobSpec job = SmallJob();
    return ReadPartitionFile(store_, file, job, LayoutOf(job)).status();
  }

  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  FaultyObjectStore store_{*memory_};
  const v1::SavedFile file_ =
      PutPartial(*memory_, PartitionIndex{1}, EncodedSmallPartition(), /*rows=*/3);
};

TEST_F(ReadPartitionFileTest, WhatWasSavedIsRead) { EXPECT_EQ(Read(file_), absl::OkStatus()); }

TEST_F(ReadPartitionFileTest, AnObjectOfAnotherLengthThanTheManifestSaysIsDamage) {
  v1::SavedFile longer = file_;
  longer.set_bytes(file_.bytes() + 1);
  EXPECT_TRUE(absl::IsDataLoss(Read(longer)));
  v1::SavedFile shorter = file_;
  shorter.set_bytes(file_.bytes() - 1);
  EXPECT_TRUE(absl::IsDataLoss(Read(shorter)));
}

TEST_F(ReadPartitionFileTest, AnotherFilesBytesAreDamageThoughTheyCanBeDecoded) {
  v1::SavedFile other = file_;
  other.set_crc32c(file_.crc32c() ^ 1);
  const absl::Status status = Read(other);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("its blocks are another file's"));
}

TEST_F(ReadPartitionFileTest, AFlippedBitIsDamageOfThisFile) {
  store_.SetPlan([](const StoreCall& call) -> StoreFault {
    return {.flip_bit = call.kind == StoreCall::Kind::kRead};
  });
  const absl::Status status = Read(file_);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("partition-0001.capstan"));
}

TEST_F(ReadPartitionFileTest, AStoreThatIsAwayOrAFileThatIsGoneIsNoDamage) {
  store_.FailAlways(absl::UnavailableError("away"));
  EXPECT_TRUE(absl::IsUnavailable(Read(file_)));
  store_.Heal();
  ASSERT_TRUE(memory_->Delete(file_.name()).ok());
  EXPECT_TRUE(absl::IsNotFound(Read(file_)));
}

TEST_F(ReadPartitionFileTest, APartitionOfAnotherModelIsNoDamageEither) {
  v1::JobSpec job = SmallJob();
  job.mutable_tables()->RemoveLast();
  const absl::Status other = ReadPartitionFile(store_, file_, job, LayoutOf(job)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("partition-0001.capstan: holds 2 tables"));
}

TEST_F(ReadPartitionFileTest, ADeltaIsForItsParentAlone) {
  v1::SavedFile delta = PutPartial(*memory_, PartitionIndex{0}, EncodedSmallDelta(), /*rows=*/1);
  delta.set_partition(1);
  const v1::JobSpec job = SmallJob();
  const auto parent = [&] {
    return *DecodePartition(EncodedSmallPartition(), job, LayoutOf(job), PartitionIndex{1});
  };
  DecodedPartition right = parent();
  EXPECT_EQ(ReadDeltaFile(store_, delta, job, "100-a", right), absl::OkStatus());
  DecodedPartition wrong = parent();
  const absl::Status refused = ReadDeltaFile(store_, delta, job, "200-b", wrong);
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("expected changes to 200-b"));
}

}  // namespace
}  // namespace capstan
