#include "tests/lib/object_store_contract.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Keys(const std::vector<ObjectInfo>& objects) {
  std::vector<std::string> keys;
  for (const ObjectInfo& object : objects) keys.push_back(object.key);
  return keys;
}

// Runs `work` in `count` threads at once.
void Together(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

TEST_P(ObjectStoreContract, GivesBackWhatWasPut) {
  const std::string bytes("a\0b\xFF", 4);
  ASSERT_TRUE(store_->Put("x/y/z", bytes).ok());
  EXPECT_EQ(*store_->Get("x/y/z"), bytes);
  EXPECT_EQ(store_->Read("x/y/z", {.offset = 1, .length = 2})->bytes, bytes.substr(1, 2));
  EXPECT_EQ(store_->Read("x/y/z", {.offset = 4, .length = 0})->bytes, "");
  EXPECT_EQ(store_->Read("x/y/z", {.offset = 2})->bytes, bytes.substr(2));
  EXPECT_EQ(*store_->Stat("x/y/z"), (ObjectInfo{"x/y/z", 4}));
}

TEST_P(ObjectStoreContract, ReadsLessWhereTheObjectEndsIfThatIsWished) {
  ASSERT_TRUE(store_->Put("a", "12345").ok());
  const Object whole = *store_->Read("a", {.length = 100, .may_be_short = true});
  EXPECT_EQ(whole.bytes, "12345");
  EXPECT_EQ(whole.size, 5u);
  const Object piece = *store_->Read(
      "a", {.offset = 3, .length = 100, .version = whole.version, .may_be_short = true});
  EXPECT_EQ(piece.bytes, "45");
  EXPECT_EQ(piece.size, 5u);
  EXPECT_EQ(store_->Read("a", {.offset = 5, .length = 1, .may_be_short = true})->bytes, "");
  const ReadRange behind = {.offset = 6, .length = 1, .may_be_short = true};
  EXPECT_TRUE(absl::IsOutOfRange(store_->Read("a", behind).status()));
  ASSERT_TRUE(store_->Put("empty", "").ok());
  EXPECT_EQ(store_->Read("empty", {.length = 100, .may_be_short = true})->bytes, "");
}

TEST_P(ObjectStoreContract, KeepsAnEmptyObject) {
  ASSERT_TRUE(store_->Put("empty", "").ok());
  EXPECT_EQ(*store_->Get("empty"), "");
  EXPECT_EQ(store_->Stat("empty")->bytes, 0u);
}

TEST_P(ObjectStoreContract, ReplacesAnObject) {
  ASSERT_TRUE(store_->Put("a", "long before").ok());
  ASSERT_TRUE(store_->Put("a", "now").ok());
  EXPECT_EQ(*store_->Get("a"), "now");
}

TEST_P(ObjectStoreContract, DoesNotReplaceWithPutIfAbsent) {
  ASSERT_TRUE(store_->PutIfAbsent("a", "first").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(store_->PutIfAbsent("a", "second").status()));
  EXPECT_EQ(*store_->Get("a"), "first");
}

TEST_P(ObjectStoreContract, LetsExactlyOneOfManyWinPutIfAbsent) {
  std::atomic<int> winners = 0;
  Together(8, [&](int i) { winners += store_->PutIfAbsent("a/b", std::to_string(i)).ok(); });
  EXPECT_EQ(winners, 1);
}

TEST_P(ObjectStoreContract, ReplacesWithPutIfMatchOnlyTheVersionThatWasRead) {
  ASSERT_TRUE(store_->Put("a", "first").ok());
  const Object first = *store_->GetWithVersion("a");
  const absl::StatusOr<ObjectVersion> second = store_->PutIfMatch("a", "second", first.version);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(store_->GetWithVersion("a")->version, *second);
  EXPECT_TRUE(absl::IsAborted(store_->PutIfMatch("a", "third", first.version).status()));
  EXPECT_EQ(*store_->Get("a"), "second");
  EXPECT_TRUE(store_->PutIfMatch("a", "fourth", *second).ok());
  EXPECT_EQ(*store_->Get("a"), "fourth");
}

TEST_P(ObjectStoreContract, MatchesTheVersionOfPutIfAbsent) {
  const ObjectVersion version = *store_->PutIfAbsent("a", "first");
  EXPECT_EQ(store_->GetWithVersion("a")->version, version);
  EXPECT_TRUE(store_->PutIfMatch("a", "second", version).ok());
}

TEST_P(ObjectStoreContract, DoesNotMatchWhatIsGone) {
  const ObjectVersion version = *store_->PutIfAbsent("a/b", "x");
  ASSERT_TRUE(store_->Delete("a/b").ok());
  EXPECT_TRUE(absl::IsAborted(store_->PutIfMatch("a/b", "y", version).status()));
  EXPECT_TRUE(absl::IsAborted(store_->PutIfMatch("no/such", "y", version).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Get("a/b").status()));
}

TEST_P(ObjectStoreContract, LosesNoIncrementOfManyReadersThatReplaceWhatTheyRead) {
  constexpr int kThreads = 4;
  constexpr int kEach = 10;
  ASSERT_TRUE(store_->Put("counter", "0").ok());
  Together(kThreads, [&](int) {
    for (int done = 0; done < kEach;) {
      const absl::StatusOr<Object> read = store_->GetWithVersion("counter");
      ASSERT_TRUE(read.ok()) << read.status();
      const std::string next = std::to_string(std::stoi(read->bytes) + 1);
      const absl::Status status = store_->PutIfMatch("counter", next, read->version).status();
      ASSERT_TRUE(status.ok() || absl::IsAborted(status)) << status;
      done += status.ok();
    }
  });
  EXPECT_EQ(*store_->Get("counter"), std::to_string(kThreads * kEach));
}

TEST_P(ObjectStoreContract, ReadsAVersionOrSaysThatItIsGone) {
  ASSERT_TRUE(store_->Put("a", "12345").ok());
  const ObjectVersion version = store_->GetWithVersion("a")->version;
  EXPECT_EQ(store_->Read("a", {.offset = 3, .length = 2, .version = version})->bytes, "45");
  ASSERT_TRUE(store_->Put("a", "67890").ok());
  const absl::Status status =
      store_->Read("a", {.offset = 3, .length = 2, .version = version}).status();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
}

TEST_P(ObjectStoreContract, ShowsAStreamedObjectOnlyOnceItIsCommitted) {
  auto writer = *store_->Create("a");
  ASSERT_TRUE(writer->Append("one ").ok());
  ASSERT_TRUE(writer->Append("two").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->Get("a").status()));
  EXPECT_THAT(*store_->List(""), IsEmpty());
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_EQ(*store_->Get("a"), "one two");
}

TEST_P(ObjectStoreContract, StreamsAnEmptyAndALargeObject) {
  ASSERT_TRUE((*store_->Create("empty"))->Commit().ok());
  EXPECT_EQ(*store_->Get("empty"), "");
  std::string piece(3 << 20, '\0');
  for (size_t i = 0; i < piece.size(); ++i) piece[i] = static_cast<char>(i * i >> 7);
  auto writer = *store_->Create("large");
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(writer->Append(piece).ok());
  ASSERT_TRUE(writer->Commit().ok());
  const std::string all = *store_->Get("large");
  ASSERT_EQ(all.size(), 7 * piece.size());
  for (int i = 0; i < 7; ++i) EXPECT_EQ(all.compare(i * piece.size(), piece.size(), piece), 0);
}

TEST_P(ObjectStoreContract, LeavesWhatStoodThereWhenAWriterIsGivenUp) {
  ASSERT_TRUE(store_->Put("a", "before").ok());
  auto writer = *store_->Create("a");
  ASSERT_TRUE(writer->Append("half").ok());
  writer.reset();
  EXPECT_EQ(*store_->Get("a"), "before");
}

TEST_P(ObjectStoreContract, ListsObjectsBelowAPrefixInOrder) {
  for (const char* key : {"job/b/2", "job/b/1", "job/a", "jobs", "other/x"}) {
    ASSERT_TRUE(store_->Put(key, key).ok());
  }
  EXPECT_THAT(*store_->List("job/"), ElementsAre(ObjectInfo{"job/a", 5}, ObjectInfo{"job/b/1", 7},
                                                 ObjectInfo{"job/b/2", 7}));
  EXPECT_EQ(store_->List("job")->size(), 4u);
  EXPECT_EQ(store_->List("")->size(), 5u);
  EXPECT_THAT(*store_->List("nothing"), IsEmpty());
}

TEST_P(ObjectStoreContract, ListsPageByPage) {
  for (const char* key : {"p/1", "p/2", "p/3", "p/4", "p/5"})
    ASSERT_TRUE(store_->Put(key, "").ok());
  EXPECT_THAT(Keys(*store_->ListPage("p/", "", 2)), ElementsAre("p/1", "p/2"));
  EXPECT_THAT(Keys(*store_->ListPage("p/", "p/2", 2)), ElementsAre("p/3", "p/4"));
  EXPECT_THAT(Keys(*store_->ListPage("p/", "p/4", 2)), ElementsAre("p/5"));
  EXPECT_THAT(*store_->ListPage("p/", "p/5", 2), IsEmpty());
}

TEST_P(ObjectStoreContract, AnswersNotFoundAndOutOfRange) {
  EXPECT_TRUE(absl::IsNotFound(store_->Get("a/b").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Stat("a/b").status()));
  EXPECT_THAT(*store_->List(""), IsEmpty());
  ASSERT_TRUE(store_->Put("a", "12345").ok());
  EXPECT_TRUE(absl::IsOutOfRange(store_->Read("a", {.offset = 3, .length = 3}).status()));
  EXPECT_TRUE(absl::IsOutOfRange(store_->Read("a", {.offset = 5, .length = 1}).status()));
  EXPECT_TRUE(absl::IsOutOfRange(store_->Read("a", {.offset = 6, .length = 0}).status()));
  EXPECT_TRUE(
      absl::IsOutOfRange(store_->Read("a", {.offset = 1, .length = ~uint64_t{0} - 1}).status()));
}

TEST_P(ObjectStoreContract, DeletesAndDoesNotMindIfThereIsNothing) {
  ASSERT_TRUE(store_->Put("a", "x").ok());
  EXPECT_TRUE(store_->Delete("a").ok());
  EXPECT_TRUE(store_->Delete("a").ok());
  EXPECT_TRUE(store_->Delete("no/such").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->Get("a").status()));
}

TEST_P(ObjectStoreContract, DeletesManyAtOnce) {
  for (const char* key : {"a", "b/c", "d"}) ASSERT_TRUE(store_->Put(key, "x").ok());
  const std::vector<std::string> keys = {"a", "b/c", "not/there"};
  EXPECT_TRUE(store_->DeleteAll(keys).ok());
  EXPECT_THAT(Keys(*store_->List("")), ElementsAre("d"));
}

TEST_P(ObjectStoreContract, RefusesWhatIsNoKey) {
  for (const char* key : {"", "/a", "a//b", "../a", "a/", ".a"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Put(key, "x"))) << key;
    EXPECT_TRUE(absl::IsInvalidArgument(store_->PutIfAbsent(key, "x").status())) << key;
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Create(key).status())) << key;
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Get(key).status())) << key;
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Stat(key).status())) << key;
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Delete(key))) << key;
  }
}

}  // namespace
}  // namespace capstan
