#include "capstan/objectstore/file_object_store.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/objectstore/piece_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/object_store_contract.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;

class FileObjectStoreTest : public testing::Test {
 protected:
  size_t FilesBelowRoot() const {
    size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "root")) {
      files += entry.is_regular_file();
    }
    return files;
  }

  const TestFolder temporary_;
  const fs::path folder_ = temporary_.path();
  const std::unique_ptr<ObjectStore> store_ = MakeFileObjectStore((folder_ / "root").string());
};

INSTANTIATE_TEST_SUITE_P(File, ObjectStoreContract, testing::Values([] {
                           static const TestFolder folder;
                           static int made = 0;
                           return MakeFileObjectStore(folder.Path(absl::StrCat("root", ++made)));
                         }));

TEST_F(FileObjectStoreTest, AFolderInWhichAStoreHasWrittenGoesWithItsLastObject) {
  const std::unique_ptr<ObjectStore> below = MakeFileObjectStore((folder_ / "root/976-1").string());
  ASSERT_TRUE(below->Put("part", "bytes").ok());
  ASSERT_TRUE(fs::exists(folder_ / "root/976-1/.lock"));
  ASSERT_TRUE(store_->DeleteAll(std::vector<std::string>{"976-1/part"}).ok());
  EXPECT_FALSE(fs::exists(folder_ / "root/976-1"));
  ASSERT_TRUE(below->Put("part", "bytes").ok()) << "its folder is made again";
}

TEST_F(FileObjectStoreTest, AFolderIsNotRemovedWhileItsLockIsHeld) {
  const std::unique_ptr<ObjectStore> below = MakeFileObjectStore((folder_ / "root/976-1").string());
  ASSERT_TRUE(below->Put("part", "bytes").ok());
  const int lock = open((folder_ / "root/976-1/.lock").c_str(), O_RDWR);
  ASSERT_EQ(flock(lock, LOCK_SH), 0);
  ASSERT_TRUE(store_->DeleteAll(std::vector<std::string>{"976-1/part"}).ok());
  EXPECT_TRUE(fs::exists(folder_ / "root/976-1/.lock"));
  close(lock);
}

TEST_F(FileObjectStoreTest, ALockThatIsRemovedWhileOneWaitsForItIsNotTheOneThatIsTaken) {
  ASSERT_TRUE(store_->Put("a", "first").ok());
  const fs::path path = folder_ / "root/.lock";
  const int old = open(path.c_str(), O_RDWR);
  ASSERT_EQ(flock(old, LOCK_EX), 0);
  absl::Status written;
  std::thread writer([&] { written = store_->Put("a", "second"); });
  fs::remove(path);
  writer.join();
  EXPECT_TRUE(written.ok()) << written << ": the old lock is held by nobody who matters";
  EXPECT_TRUE(fs::exists(path));
  close(old);
}

TEST_F(FileObjectStoreTest, LeavesNoTemporaryFileOfAConditionalWrite) {
  const ObjectVersion first = *store_->PutIfAbsent("a", "first");
  ASSERT_TRUE(store_->PutIfMatch("a", "second", first).ok());
  ASSERT_FALSE(store_->PutIfMatch("a", "third", first).ok());
  ASSERT_FALSE(store_->PutIfAbsent("a", "fourth").ok());
  EXPECT_EQ(FilesBelowRoot(), 2u);  // The object and the lock.
}

TEST_F(FileObjectStoreTest, GivesWritesOfTheSameBytesDifferentVersions) {
  const ObjectVersion first = *store_->PutIfAbsent("a", "same");
  const ObjectVersion second = *store_->PutIfMatch("a", "same", first);
  EXPECT_NE(first, second);
  EXPECT_TRUE(absl::IsAborted(store_->PutIfMatch("a", "same", first).status()));
}

TEST_F(FileObjectStoreTest, GivesUpWhenAnotherProcessKeepsTheLock) {
  const ObjectVersion version = *store_->PutIfAbsent("a", "x");
  const int lock = open((folder_ / "root" / ".lock").c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  const auto impatient =
      MakeFileObjectStore((folder_ / "root").string(), {.lock_wait = absl::ZeroDuration()});
  EXPECT_TRUE(absl::IsUnavailable(impatient->PutIfMatch("a", "y", version).status()));
  EXPECT_TRUE(absl::IsUnavailable(impatient->Put("a", "y")));
  close(lock);
  EXPECT_TRUE(impatient->PutIfMatch("a", "y", version).ok());
}

TEST_F(FileObjectStoreTest, RemovesFoldersWithTheirLastObjectAndWhatDeadWritersLeft) {
  ASSERT_TRUE(store_->Put("job/1/a", "x").ok());
  ASSERT_TRUE(store_->Put("job/1/b", "x").ok());
  ASSERT_TRUE(store_->Put("job/2", "x").ok());
  std::ofstream(folder_ / "root/job/1/.writing-dead") << "half";
  ASSERT_TRUE(store_->Delete("job/1/a").ok());
  EXPECT_FALSE(fs::exists(folder_ / "root/job/1/.writing-dead"));
  EXPECT_TRUE(fs::exists(folder_ / "root/job/1/b"));
  ASSERT_TRUE(store_->Delete("job/1/b").ok());
  EXPECT_FALSE(fs::exists(folder_ / "root/job/1"));
  EXPECT_TRUE(fs::exists(folder_ / "root/job"));
}

TEST_F(FileObjectStoreTest, LeavesTheFilesOfLiveWriters) {
  ASSERT_TRUE(store_->Put("a/b", "x").ok());
  auto writer = *store_->Create("a/c");
  ASSERT_TRUE(writer->Append("y").ok());
  ASSERT_TRUE(store_->Delete("a/b").ok());
  EXPECT_TRUE(writer->Commit().ok());
  EXPECT_EQ(*store_->Get("a/c"), "y");
}

TEST_F(FileObjectStoreTest, WritesWhileFoldersAreRemoved) {
  std::thread remover([&] {
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(store_->Delete("a/b/c").ok());
  });
  for (int i = 0; i < 50; ++i) {
    const absl::Status status = store_->Put("a/b/c", "x");
    EXPECT_TRUE(status.ok()) << status;
  }
  remover.join();
}

TEST_F(FileObjectStoreTest, LeavesNothingOfAWriterThatWasGivenUp) {
  auto writer = *store_->Create("a");
  ASSERT_TRUE(writer->Append("half").ok());
  writer.reset();
  EXPECT_EQ(FilesBelowRoot(), 0u);
}

TEST_F(FileObjectStoreTest, KeepsLargeObjectsOfAnyLengthWrittenInAnyPieces) {
  constexpr size_t kPiece = PieceWriter::kPieceBytes;
  std::string bytes(3 * kPiece + 777, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 7);
  for (size_t length : {size_t{0}, size_t{4095}, kPiece - 1, kPiece, kPiece + 1, bytes.size()}) {
    for (size_t step : {size_t{100'001}, kPiece, size_t{4} << 20}) {
      const auto writer = *store_->Create("a");
      for (size_t at = 0; at < length; at += step) {
        const std::string_view whole(bytes.data(), length);
        ASSERT_TRUE(writer->Append(whole.substr(at, step)).ok());
      }
      ASSERT_TRUE(writer->Commit().ok());
      ASSERT_TRUE(*store_->Get("a") == bytes.substr(0, length)) << length << " by " << step;
    }
  }
}

TEST_F(FileObjectStoreTest, DoesNotFillThePageCacheWithLargeObjects) {
  struct statfs system;
  ASSERT_EQ(statfs(folder_.c_str(), &system), 0);
  if (system.f_type == TMPFS_MAGIC) GTEST_SKIP() << "a file system in memory";
  const std::string bytes(16 * PieceWriter::kPieceBytes + 5, 'x');
  ASSERT_TRUE(store_->Put("a", bytes).ok());
  const int file = open((folder_ / "root/a").c_str(), O_RDONLY);
  void* const map = mmap(nullptr, bytes.size(), PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(map, MAP_FAILED);
  std::vector<unsigned char> cached((bytes.size() + 4095) / 4096);
  ASSERT_EQ(mincore(map, bytes.size(), cached.data()), 0);
  munmap(map, bytes.size());
  close(file);
  EXPECT_LT(std::count_if(cached.begin(), cached.end(), [](unsigned char in) { return in & 1; }),
            static_cast<long>(cached.size() / 10));
}

TEST_F(FileObjectStoreTest, FollowsNoSymbolicLinkBelowItsRoot) {
  ASSERT_TRUE(store_->Put("inside", "x").ok());
  fs::create_directory(folder_ / "outside");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "root" / "link");
  EXPECT_FALSE(store_->Put("link/a", "x").ok());
  EXPECT_TRUE(fs::is_empty(folder_ / "outside"));
  fs::create_symlink("/etc/hostname", folder_ / "root" / "file");
  EXPECT_EQ(store_->Get("file").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store_->List("")->size(), 1u);
}

TEST_F(FileObjectStoreTest, DoesNotHangOnAPipeInThePlaceOfAnObject) {
  ASSERT_TRUE(store_->Put("inside", "x").ok());
  ASSERT_EQ(mkfifo((folder_ / "root" / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(store_->Get("pipe").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(FileObjectStoreTest, RefusesKeysThatLeadOutOfItsFolder) {
  EXPECT_EQ(store_->Put("../a", "x").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->Get("/etc/passwd").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(FileObjectStoreTest, ReportsAFolderThatCannotBeMade) {
  ASSERT_TRUE(store_->Put("a", "x").ok());
  EXPECT_FALSE(store_->Put("a/b", "x").ok());  // "a" is an object.
  EXPECT_FALSE(MakeFileObjectStore((folder_ / "root" / "a").string())->Put("b", "x").ok());
}

}  // namespace
}  // namespace capstan
