// The stream of one object, whose pieces are asked for ahead.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/synchronization/barrier.h"
#include "absl/synchronization/notification.h"
#include "capstan/data/formats/object_files.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

namespace capstan {
namespace {

std::string Letters(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return text;
}

absl::StatusOr<std::string> ReadObjectToEnd(ByteStream& stream, size_t piece = 100'000) {
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
  const std::string text = Letters(11'000'000);
  ASSERT_TRUE(store_.Put("a", text).ok());
  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{1}, uint64_t{10'999'999}, uint64_t{11'000'000}}) {
    for (const uint64_t end : {uint64_t{0}, uint64_t{5'000'000}, Source::kToTheEnd}) {
      EXPECT_EQ(*ReadObjectToEnd(*Open(offset, end)), text.substr(offset)) << offset << " " << end;
    }
  }
}

TEST_F(ObjectStreamTest, EndsAtOnceOnAnEmptyObject) {
  ASSERT_TRUE(store_.Put("a", "").ok());
  EXPECT_EQ(*ReadObjectToEnd(*Open(0, Source::kToTheEnd)), "");
}

TEST_F(ObjectStreamTest, DoesNotReadBeyondWhatItsReaderWillNeed) {
  ASSERT_TRUE(memory_->Put("a", Letters(50'000'000)).ok());
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
  ASSERT_TRUE(memory_->Put("a", Letters(1000)).ok());
  absl::Notification asked;
  store_.SetPlan(
      [&](const StoreCall&) -> StoreFault { return {.pause = [&] { asked.Notify(); }}; });
  const auto stream = Open(0, 1000);
  EXPECT_TRUE(asked.WaitForNotificationWithTimeout(absl::Seconds(60)));
}

TEST_F(ObjectStreamTest, AsksForSeveralPiecesAtOnce) {
  ASSERT_TRUE(memory_->Put("a", Letters(40'000'000)).ok());
  absl::Barrier together(kMostAhead);
  // From the second on, each waits until all of them have been asked for.
  store_.SetPlan([&](const StoreCall& call) -> StoreFault {
    if (call.number < 2 || call.number > 1 + static_cast<int64_t>(kMostAhead)) return {};
    return {.pause = [&] { together.Block(); }};
  });
  EXPECT_EQ(ReadObjectToEnd(*Open(0, Source::kToTheEnd))->size(), 40'000'000u);
}

TEST_F(ObjectStreamTest, NamesTheFileInAnErrorAndKeepsIt) {
  ASSERT_TRUE(memory_->Put("a", Letters(9'000'000)).ok());
  auto stream = Open(0, Source::kToTheEnd);
  store_.FailNth(3, absl::UnavailableError("SlowDown"));
  const absl::Status status = ReadObjectToEnd(*stream).status();
  EXPECT_EQ(status, absl::UnavailableError("s3://b/a: SlowDown"));
  char byte;
  EXPECT_EQ(stream->Read(std::span(&byte, 1)).status(), status);
}

TEST_F(ObjectStreamTest, DoesNotMixTwoVersions) {
  ASSERT_TRUE(memory_->Put("a", Letters(9'000'000)).ok());
  auto stream = Open(0, /*likely_end=*/1000);
  char byte;
  ASSERT_TRUE(stream->Read(std::span(&byte, 1)).ok());
  ASSERT_TRUE(memory_->Put("a", Letters(9'000'000)).ok());
  EXPECT_TRUE(absl::IsAborted(ReadObjectToEnd(*stream).status()));
}

TEST_F(ObjectStreamTest, MayBeGivenUpWhilePiecesAreOnTheirWay) {
  ASSERT_TRUE(memory_->Put("a", Letters(40'000'000)).ok());
  auto stream = Open(0, Source::kToTheEnd);
  char byte;
  ASSERT_TRUE(stream->Read(std::span(&byte, 1)).ok());
  stream.reset();
}

TEST_F(ObjectStreamTest, TheEndStaysTheEndAndCostsNoFurtherRequest) {
  ASSERT_TRUE(memory_->Put("a", "abc").ok());
  const auto stream = Open(1, Source::kToTheEnd);
  EXPECT_EQ(*ReadObjectToEnd(*stream), "bc");
  const int64_t calls = store_.calls();
  EXPECT_EQ(*ReadObjectToEnd(*stream), "");
  EXPECT_EQ(store_.calls(), calls);
}

TEST_F(ObjectStreamTest, AnEmptyBufferIsNotTheEnd) {
  ASSERT_TRUE(memory_->Put("a", "abc").ok());
  const auto stream = Open(0, Source::kToTheEnd);
  EXPECT_EQ(*stream->Read({}), 0u);
  EXPECT_EQ(*ReadObjectToEnd(*stream), "abc");
}

}  // namespace
}  // namespace capstan
