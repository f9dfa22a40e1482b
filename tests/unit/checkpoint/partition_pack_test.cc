#include "capstan/checkpoint/partition_pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "capstan/base/crc32c.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/manifest.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

using testing::HasSubstr;

// Does nothing until it is waited for.
class Dawdler : public Background {
 public:
  std::unique_ptr<Work> Begin(absl::AnyInvocable<void()> work) override {
    struct Later : Work {
      explicit Later(absl::AnyInvocable<void()> work) : body(std::move(work)) {}
      ~Later() override { body(); }
      absl::AnyInvocable<void()> body;
    };
    return std::make_unique<Later>(std::move(work));
  }
};

// A checkpoint whose two partitions are in one object.
class PartitionPackTest : public testing::Test {
 protected:
  PartitionPackTest() {
    const auto empty = *PartitionStore::Create(job_, LayoutOf(job_), PartitionIndex{0});
    PartitionPack pack(*folder_, threads_);
    Add(pack, PartitionIndex{0}, EncodePartition(*empty, {.partition_count = 2}));
    Add(pack, PartitionIndex{1}, EncodedSmallPartition());
    *manifest_.mutable_job() = job_;
    const std::vector<v1::SavedFile> files = *pack.Commit();
    manifest_.mutable_files()->Assign(files.begin(), files.end());
  }

  static void Add(PartitionPack& pack, PartitionIndex partition, const std::string& encoded) {
    const size_t half = encoded.size() / 2;
    EXPECT_TRUE(pack.Begin(partition).ok());
    EXPECT_TRUE(pack.Append(encoded.substr(0, half)).ok());
    EXPECT_TRUE(pack.Append(encoded.substr(half)).ok());
    EXPECT_TRUE(pack.End(/*rows=*/3, /*delta=*/false).ok());
  }

  absl::Status Read(int partition) {
    return ReadPartitionFile(*folder_, manifest_.files(partition), job_, LayoutOf(job_)).status();
  }
  void Rewrite(const std::string& object) {
    ASSERT_TRUE(folder_->Put("partition-0000.capstan", object).ok());
  }

  Threads threads_;
  const v1::JobSpec job_ = SmallJob();
  const std::unique_ptr<ObjectStore> folder_ = MakeMemoryObjectStore();
  v1::Manifest manifest_;
};

TEST_F(PartitionPackTest, GivesBackEachPartition) {
  EXPECT_EQ(folder_->List("")->size(), 1u);
  EXPECT_TRUE(Read(0).ok()) << Read(0);
  const auto second = ReadPartitionFile(*folder_, manifest_.files(1), job_, LayoutOf(job_));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->store->row_count(), 3u);
}

TEST_F(PartitionPackTest, APartitionOfManyPiecesIsReadAsItWasSaved) {
  const std::string encoded = EncodedSmallPartition(/*rows=*/400'000);
  ASSERT_GT(encoded.size(), size_t{17} << 20) << "three pieces, and blocks that lie in two";
  const v1::SavedFile file = PutPartial(*folder_, PartitionIndex{1}, encoded);
  const auto decoded = ReadPartitionFile(*folder_, file, job_, LayoutOf(job_));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->store->row_count(), 400'000u);
  std::string damaged = encoded;
  damaged[size_t{9} << 20] ^= 1;
  ASSERT_TRUE(folder_->Put(file.name(), damaged).ok());
  const absl::Status status = ReadPartitionFile(*folder_, file, job_, LayoutOf(job_)).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the checksum does not agree"));
}

// A file without blocks but where it is written to.
TEST_F(PartitionPackTest, ReadsAPartitionBehindNineteenGibibytesOfOthers) {
  const TestFolder temporary;
  const std::string& path = temporary.path();
  const std::string encoded = EncodedSmallPartition();
  const std::string name = path + "/partition-0000.capstan";
  std::ofstream(name).put('x');
  constexpr uint64_t kOffset = uint64_t{19} << 30;
  constexpr uint64_t kObject = uint64_t{20} << 30;
  std::filesystem::resize_file(name, kObject);
  std::fstream(name, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(kOffset))
      .write(encoded.data(), static_cast<std::streamsize>(encoded.size()));
  v1::SavedFile file = manifest_.files(1);
  file.set_offset(kOffset);
  file.set_bytes(encoded.size());
  file.set_crc32c(Crc32c(encoded));
  file.set_object_bytes(kObject);
  const auto decoded = ReadPartitionFile(**OpenObjectStore(path), file, job_, LayoutOf(job_));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->store->row_count(), 3u);
}

TEST_F(PartitionPackTest, IsEnoughWhenManySmallOnesOrALargeOneAreInIt) {
  PartitionPack pack(*folder_, threads_);
  EXPECT_FALSE(pack.enough());
  Add(pack, PartitionIndex{0}, std::string(PartitionPack::kEnough - 1, 'x'));
  EXPECT_FALSE(pack.enough());
  Add(pack, PartitionIndex{1}, "x");
  EXPECT_TRUE(pack.enough());
}

TEST_F(PartitionPackTest, LeavesNothingUnlessItIsCommitted) {
  const auto folder = MakeMemoryObjectStore();
  {
    PartitionPack pack(*folder, threads_);
    Add(pack, PartitionIndex{0}, EncodedSmallPartition());
  }
  EXPECT_TRUE(folder->List("")->empty());
}

// What is in memory is bounded by it: the next partition is copied afterwards.
TEST_F(PartitionPackTest, TheEndOfAFileWaitsUntilTheStoreHasIt) {
  FaultyObjectStore store(*folder_);
  int taken = 0;
  store.SetPlan([&taken](const StoreCall& call) {
    taken += call.kind == StoreCall::Kind::kAppend ? 1 : 0;
    return StoreFault{};
  });
  Dawdler dawdler;
  PartitionPack pack(store, dawdler);
  Add(pack, PartitionIndex{1}, EncodedSmallPartition());
  EXPECT_EQ(taken, 2);
}

TEST_F(PartitionPackTest, TheErrorOfAPieceIsToldAtTheEndOfItsFile) {
  FaultyObjectStore store(*folder_);
  store.SetPlan([](const StoreCall& call) -> StoreFault {
    if (call.kind != StoreCall::Kind::kAppend) return {};
    return {.status = absl::ResourceExhaustedError("full")};
  });
  PartitionPack pack(store, threads_);
  ASSERT_TRUE(pack.Begin(PartitionIndex{0}).ok());
  ASSERT_TRUE(pack.Append("first").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(pack.End(0, false)));
}

TEST_F(PartitionPackTest, EveryFlippedByteIsFoundInThePartitionThatItIsIn) {
  const std::string whole = *folder_->Get("partition-0000.capstan");
  const uint64_t border = manifest_.files(1).offset();
  for (size_t i = 0; i < whole.size(); i += 7) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    Rewrite(damaged);
    const int hit = i < border ? 0 : 1;
    ASSERT_EQ(Read(hit).code(), absl::StatusCode::kDataLoss) << i;
    ASSERT_TRUE(Read(1 - hit).ok()) << i;
  }
}

TEST_F(PartitionPackTest, AnObjectOfAnotherLengthIsRefusedForEachPartition) {
  const std::string whole = *folder_->Get("partition-0000.capstan");
  for (const std::string& object :
       {whole + "x", whole.substr(0, whole.size() - 1), whole.substr(0, 10), std::string()}) {
    Rewrite(object);
    for (int partition : {0, 1}) {
      const absl::Status status = Read(partition);
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status << object.size();
      EXPECT_THAT(std::string(status.message()), HasSubstr("partition-0000.capstan"));
    }
  }
}

TEST_F(PartitionPackTest, AManifestSaysThatItsReaderMustKnowObjectsWithSeveralFiles) {
  EXPECT_EQ(ParseManifest(*ManifestText(manifest_))->format(), 2u);
  for (int i : {0, 1}) {
    manifest_.mutable_files(i)->set_name(PartitionFileName(PartitionIndex(i)));
    manifest_.mutable_files(i)->clear_offset();
    manifest_.mutable_files(i)->clear_object_bytes();
  }
  EXPECT_EQ(ParseManifest(*ManifestText(manifest_))->format(), 1u);
}

TEST_F(PartitionPackTest, AManifestWhoseFilesDoNotFillTheirObjectIsRefused) {
  const auto refused = [this](auto change) {
    v1::Manifest manifest = manifest_;
    change(*manifest.mutable_files(0), *manifest.mutable_files(1));
    return ManifestText(manifest).status().code() == absl::StatusCode::kInvalidArgument;
  };
  using File = v1::SavedFile;
  EXPECT_TRUE(refused([](File&, File& second) { second.set_offset(second.offset() + 1); }));
  EXPECT_TRUE(refused([](File&, File& second) { second.set_offset(second.offset() - 1); }));
  EXPECT_TRUE(refused([](File&, File& second) { second.set_offset(0); }));
  EXPECT_TRUE(refused([](File&, File& second) { second.set_bytes(~uint64_t{0}); }));
  EXPECT_TRUE(refused([](File& first, File&) { first.set_object_bytes(1); }));
  EXPECT_TRUE(refused([](File& first, File& second) {
    first.set_object_bytes(first.object_bytes() + 1);
    second.set_object_bytes(first.object_bytes());
  }));
  EXPECT_TRUE(refused([](File& first, File& second) {
    for (File* file : {&first, &second}) file->set_name("partition-0001.capstan");
  }));
}

}  // namespace
}  // namespace capstan
