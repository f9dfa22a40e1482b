#include "capstan/objectstore/file_object_store.h"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;

class FileObjectStoreTest : public testing::Test {
 protected:
  FileObjectStoreTest() {
    std::string name = testing::TempDir() + "/objects-XXXXXX";
    folder_ = mkdtemp(name.data());
    store_ = MakeFileObjectStore((folder_ / "root").string());
  }
  ~FileObjectStoreTest() override { fs::remove_all(folder_); }

  size_t FilesBelowRoot() const {
    size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "root")) {
      files += entry.is_regular_file();
    }
    return files;
  }

  fs::path folder_;
  std::unique_ptr<ObjectStore> store_;
};

TEST_F(FileObjectStoreTest, GivesBackWhatWasPut) {
  const std::string bytes("a\0b\xFF", 4);
  ASSERT_TRUE(store_->Put("x/y/z", bytes).ok());
  EXPECT_EQ(*store_->Get("x/y/z"), bytes);
  EXPECT_EQ(*store_->GetRange("x/y/z", 1, 2), bytes.substr(1, 2));
  EXPECT_EQ(*store_->GetRange("x/y/z", 4, 0), "");
}

TEST_F(FileObjectStoreTest, ReplacesAnObject) {
  ASSERT_TRUE(store_->Put("a", "long before").ok());
  ASSERT_TRUE(store_->Put("a", "now").ok());
  EXPECT_EQ(*store_->Get("a"), "now");
  EXPECT_EQ(FilesBelowRoot(), 1u);
}

TEST_F(FileObjectStoreTest, DoesNotReplaceWithPutIfAbsent) {
  ASSERT_TRUE(store_->PutIfAbsent("a", "first").ok());
  EXPECT_EQ(store_->PutIfAbsent("a", "second").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*store_->Get("a"), "first");
  EXPECT_EQ(FilesBelowRoot(), 1u);
}

TEST_F(FileObjectStoreTest, LetsExactlyOneOfManyWinPutIfAbsent) {
  std::atomic<int> winners = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { winners += store_->PutIfAbsent("a/b", std::to_string(i)).ok(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners, 1);
}

TEST_F(FileObjectStoreTest, ShowsAStreamedObjectOnlyOnceItIsCommitted) {
  auto writer = *store_->Create("a");
  ASSERT_TRUE(writer->Append("one ").ok());
  ASSERT_TRUE(writer->Append("two").ok());
  EXPECT_EQ(store_->Get("a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(*store_->List(""), testing::IsEmpty());
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_EQ(*store_->Get("a"), "one two");
}

TEST_F(FileObjectStoreTest, LeavesNothingOfAWriterThatWasGivenUp) {
  auto writer = *store_->Create("a");
  ASSERT_TRUE(writer->Append("half").ok());
  writer.reset();
  EXPECT_EQ(FilesBelowRoot(), 0u);
}

TEST_F(FileObjectStoreTest, ListsObjectsBelowAPrefixInOrder) {
  for (const char* key : {"job/b/2", "job/b/1", "job/a", "jobs", "other/x"}) {
    ASSERT_TRUE(store_->Put(key, key).ok());
  }
  EXPECT_THAT(*store_->List("job/"),
              testing::ElementsAre(ObjectInfo{"job/a", 5}, ObjectInfo{"job/b/1", 7},
                                   ObjectInfo{"job/b/2", 7}));
  EXPECT_EQ(store_->List("job")->size(), 4u);
  EXPECT_EQ(store_->List("")->size(), 5u);
  EXPECT_THAT(*store_->List("nothing"), testing::IsEmpty());
}

TEST_F(FileObjectStoreTest, AnswersNotFoundAndOutOfRange) {
  EXPECT_EQ(store_->Get("a/b").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(*store_->List(""), testing::IsEmpty());
  ASSERT_TRUE(store_->Put("a", "12345").ok());
  EXPECT_EQ(store_->GetRange("a", 3, 3).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(store_->GetRange("a", 6, 0).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(store_->GetRange("a", 1, ~uint64_t{0}).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(FileObjectStoreTest, DeletesAndDoesNotMindIfThereIsNothing) {
  ASSERT_TRUE(store_->Put("a", "x").ok());
  EXPECT_TRUE(store_->Delete("a").ok());
  EXPECT_TRUE(store_->Delete("a").ok());
  EXPECT_TRUE(store_->Delete("no/such").ok());
  EXPECT_EQ(store_->Get("a").status().code(), absl::StatusCode::kNotFound);
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
