#include "capstan/data/formats/object_files.h"

#include "absl/synchronization/barrier.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Text(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return text;
}

absl::StatusOr<std::string> ReadToEnd(ByteStream& stream, size_t piece = 100'000) {
  std::string all;
  std::string buffer(piece, '\0');
  while (true) {
    absl::StatusOr<size_t> n = stream.Read(std::span(buffer));
    if (!n.ok()) return n.status();
    if (*n == 0) return all;
    all.append(buffer, 0, *n);
  }
}

class ObjectStreamTest : public testing::Test {
 protected:
  std::unique_ptr<ByteStream> Open(uint64_t offset, uint64_t likely_end) {
    return NewObjectStream(store_, "a", "s3://b/a", offset, likely_end);
  }

  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  FaultyObjectStore store_{*memory_};
};

TEST_F(ObjectStreamTest, GivesAllBytesFromItsOffsetOn) {
  const std::string text = Text(11'000'000);
  ASSERT_TRUE(store_.Put("a", text).ok());
  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{1}, uint64_t{10'999'999}, uint64_t{11'000'000}}) {
    for (const uint64_t end : {uint64_t{0}, uint64_t{5'000'000}, Source::kToTheEnd}) {
      EXPECT_EQ(*ReadToEnd(*Open(offset, end)), text.substr(offset)) << offset << " " << end;
    }
  }
}

TEST_F(ObjectStreamTest, EndsAtOnceOnAnEmptyObject) {
  ASSERT_TRUE(store_.Put("a", "").ok());
  EXPECT_EQ(*ReadToEnd(*Open(0, Source::kToTheEnd)), "");
}

TEST_F(ObjectStreamTest, DoesNotReadBeyondWhatItsReaderWillNeed) {
  ASSERT_TRUE(memory_->Put("a", Text(50'000'000)).ok());
  auto stream = Open(1000, 3'000'000);
  std::string buffer(2'999'000, '\0');
  for (size_t got = 0; got < buffer.size();) {
    got += *stream->Read(std::span(buffer).subspan(got));
  }
  EXPECT_EQ(store_.calls(), 1);
  EXPECT_EQ(*stream->Read(std::span(buffer).first(kRecordTail)), kRecordTail);
  EXPECT_EQ(store_.calls(), 1);
  ASSERT_TRUE(stream->Read(std::span(buffer).first(10)).ok());  // The end of a longer record.
  EXPECT_EQ(store_.calls(), 2);
}

TEST_F(ObjectStreamTest, AsksForItsFirstPieceBeforeItIsRead) {
  ASSERT_TRUE(memory_->Put("a", Text(1000)).ok());
  absl::Notification asked;
  store_.SetPlan(
      [&](const StoreCall&) -> StoreFault { return {.pause = [&] { asked.Notify(); }}; });
  const auto stream = Open(0, 1000);
  EXPECT_TRUE(asked.WaitForNotificationWithTimeout(absl::Seconds(60)));
}

TEST_F(ObjectStreamTest, AsksForSeveralPiecesAtOnce) {
  ASSERT_TRUE(memory_->Put("a", Text(40'000'000)).ok());
  absl::Barrier together(kMostAhead);
  // From the second on, each waits until all of them have been asked for.
  store_.SetPlan([&](const StoreCall& call) -> StoreFault {
    if (call.number < 2 || call.number > 1 + static_cast<int64_t>(kMostAhead)) return {};
    return {.pause = [&] { together.Block(); }};
  });
  EXPECT_EQ(ReadToEnd(*Open(0, Source::kToTheEnd))->size(), 40'000'000u);
}

TEST_F(ObjectStreamTest, NamesTheFileInAnErrorAndKeepsIt) {
  ASSERT_TRUE(memory_->Put("a", Text(9'000'000)).ok());
  auto stream = Open(0, Source::kToTheEnd);
  store_.FailNth(3, absl::UnavailableError("SlowDown"));
  const absl::Status status = ReadToEnd(*stream).status();
  EXPECT_EQ(status, absl::UnavailableError("s3://b/a: SlowDown"));
  char byte;
  EXPECT_EQ(stream->Read(std::span(&byte, 1)).status(), status);
}

TEST_F(ObjectStreamTest, DoesNotMixTwoVersions) {
  ASSERT_TRUE(memory_->Put("a", Text(9'000'000)).ok());
  auto stream = Open(0, /*likely_end=*/1000);
  char byte;
  ASSERT_TRUE(stream->Read(std::span(&byte, 1)).ok());
  ASSERT_TRUE(memory_->Put("a", Text(9'000'000)).ok());
  EXPECT_TRUE(absl::IsAborted(ReadToEnd(*stream).status()));
}

TEST_F(ObjectStreamTest, MayBeGivenUpWhilePiecesAreOnTheirWay) {
  ASSERT_TRUE(memory_->Put("a", Text(40'000'000)).ok());
  auto stream = Open(0, Source::kToTheEnd);
  char byte;
  ASSERT_TRUE(stream->Read(std::span(&byte, 1)).ok());
  stream.reset();
}

class ObjectFilesTest : public testing::Test {
 protected:
  ObjectFilesTest() {
    auto store = MakeMemoryObjectStore();
    for (const char* key : {"train/b.csv", "train/a.csv", "train/c.txt", "train/deep/d.csv", "t"}) {
      EXPECT_TRUE(store->Put(key, key).ok());
    }
    bucket_ = std::move(store);
    files_ = NewObjectFiles(
        [this](const std::string& uri) -> absl::StatusOr<std::unique_ptr<ObjectStore>> {
          opened_.push_back(uri);
          if (bucket_ == nullptr) return absl::PermissionDeniedError("not yours");
          return std::move(bucket_);
        });
  }

  std::vector<std::string> Paths(const std::string& pattern) const {
    std::vector<std::string> paths;
    const auto found = files_->List(pattern);
    EXPECT_TRUE(found.ok()) << found.status();
    for (const FileInfo& file : *found) paths.push_back(file.path);
    return paths;
  }

  std::unique_ptr<ObjectStore> bucket_;
  std::vector<std::string> opened_;
  std::unique_ptr<const Source> files_;
};

TEST_F(ObjectFilesTest, ListsAGlobInOrderAndNotAcrossSlashes) {
  EXPECT_THAT(Paths("s3://ads/train/*.csv"),
              ElementsAre("s3://ads/train/a.csv", "s3://ads/train/b.csv"));
  EXPECT_THAT(Paths("s3://ads/train/[bc].*"),
              ElementsAre("s3://ads/train/b.csv", "s3://ads/train/c.txt"));
  EXPECT_THAT(Paths("s3://ads/*/*/?.csv"), ElementsAre("s3://ads/train/deep/d.csv"));
  EXPECT_THAT(Paths("s3://ads/t"), ElementsAre("s3://ads/t"));
  EXPECT_THAT(opened_, ElementsAre("s3://ads"));
}

TEST_F(ObjectFilesTest, AnObjectWithBracketsInItsNameIsMeantByItAndNotTheOneThatItMatches) {
  bucket_ = MakeForeignObjectStore({{"run[1]/a.csv", "22"}});
  EXPECT_THAT(Paths("s3://ads/run[1]/a.csv"), ElementsAre("s3://ads/run[1]/a.csv"));
}

TEST_F(ObjectFilesTest, AnObjectThatItMatchesAsWellIsNoReasonToTakeThatOne) {
  bucket_ = MakeForeignObjectStore({{"run[1]/a.csv", "22"}, {"run1/a.csv", "1"}});
  EXPECT_THAT(Paths("s3://ads/run[1]/a.csv"), ElementsAre("s3://ads/run[1]/a.csv"));
  EXPECT_THAT(Paths("s3://ads/run[[]1]/*.csv"), ElementsAre("s3://ads/run[1]/a.csv"));
  EXPECT_THAT(Paths("s3://ads/run[12]/a.csv"), ElementsAre("s3://ads/run1/a.csv"));
  EXPECT_THAT(Paths("s3://ads/run*/a.csv"),
              ElementsAre("s3://ads/run1/a.csv", "s3://ads/run[1]/a.csv"));
}

TEST_F(ObjectFilesTest, HiddenNamesAreLeftOutWhereAWildcardFindsThem) {
  bucket_ = MakeForeignObjectStore({{"pq/_SUCCESS", ""},
                                    {"pq/.part-0.crc", "1"},
                                    {"pq/_temporary/part-0", "1"},
                                    {"pq/part-0", "1"}});
  EXPECT_THAT(Paths("s3://ads/pq/*"), ElementsAre("s3://ads/pq/part-0"));
  EXPECT_THAT(Paths("s3://ads/pq/_temporary/*"), ElementsAre("s3://ads/pq/_temporary/part-0"));
  EXPECT_THAT(Paths("s3://ads/pq/_S*"), ElementsAre("s3://ads/pq/_SUCCESS"));
  EXPECT_THAT(std::string(files_->List("s3://ads/pq/*/part-0").status().message()),
              HasSubstr("no object matches but 1 with a name that begins with _ or ."));
}

TEST_F(ObjectFilesTest, AnObjectWhoseNameIsNotUtf8IsRefusedWithItsNameEscaped) {
  bucket_ = MakeForeignObjectStore({{"pq/a.csv", "1"}, {"pq/caf\xE9.csv", "1"}});
  EXPECT_THAT(Paths("s3://ads/pq/a*"), ElementsAre("s3://ads/pq/a.csv"));
  for (const char* name : {"s3://ads/pq/*.csv", "s3://ads/pq/caf\xE9.csv"}) {
    const absl::Status refused = files_->List(name).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("pq/caf\\xe9.csv: the name is not UTF-8"));
  }
}

// The workers' keys may read objects, and not list them.
TEST_F(ObjectFilesTest, FindsTheObjectOfANameWithoutListing) {
  const std::unique_ptr<ObjectStore> stored =
      MakeForeignObjectStore({{"run[1]/a.csv", "22"}, {"run1/a.csv", "1"}});
  auto unlisted = std::make_unique<FaultyObjectStore>(*stored);
  unlisted->SetPlan([](const StoreCall& call) -> StoreFault {
    if (call.kind != StoreCall::Kind::kList) return {};
    return {.status = absl::PermissionDeniedError("not yours to list")};
  });
  bucket_ = std::move(unlisted);
  const auto found = files_->Find("s3://ads/run[1]/a.csv");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->path, "s3://ads/run[1]/a.csv");
  EXPECT_EQ(found->bytes, 2u);
  EXPECT_TRUE(absl::IsNotFound(files_->Find("s3://ads/run2/a.csv").status()));
  files_.reset();  // It has the store that reads `stored`.
}

TEST_F(ObjectFilesTest, KnowsTheSize) {
  EXPECT_EQ(files_->List("s3://ads/train/a.csv")->front().bytes, 11u);
  EXPECT_EQ(files_->List("s3://ads/train/a*")->front().bytes, 11u);
}

TEST_F(ObjectFilesTest, SaysWhatIsWrong) {
  EXPECT_TRUE(absl::IsNotFound(files_->List("s3://ads/none").status()));
  EXPECT_TRUE(absl::IsNotFound(files_->List("s3://ads/none*").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(files_->List("s3://ads").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(files_->List("s3:///x").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(files_->List("s3://other/x").status()));
}

TEST_F(ObjectFilesTest, OpensWhatItLists) {
  const auto stream = files_->Open("s3://ads/train/a.csv", 6, Source::kToTheEnd);
  EXPECT_EQ(*ReadToEnd(**stream), "a.csv");
}

}  // namespace
}  // namespace capstan
