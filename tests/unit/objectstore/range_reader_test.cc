#include "capstan/objectstore/range_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

namespace capstan {
namespace {

class RangeReaderTest : public testing::Test {
 protected:
  RangeReaderTest() {
    for (int i = 0; i < 3000; ++i) absl::StrAppend(&content_, i, ",");
    EXPECT_TRUE(memory_->Put("a", content_).ok());
  }

  absl::StatusOr<std::string> ReadAll(uint64_t begin, uint64_t length) {
    RangeReader reader(store_, "a", begin, length, {.piece_bytes = 1000, .at_once = 3});
    std::string all;
    for (;;) {
      absl::StatusOr<std::string> piece = reader.Next();
      if (!piece.ok()) return piece.status();
      if (piece->empty()) return all;
      EXPECT_LE(piece->size(), 1000u);
      EXPECT_EQ(reader.object_bytes(), content_.size());
      all += *piece;
    }
  }

  std::string content_;
  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  FaultyObjectStore store_{*memory_};
};

TEST_F(RangeReaderTest, GivesTheBytesInTheirOrder) {
  EXPECT_EQ(*ReadAll(0, content_.size()), content_);
  EXPECT_EQ(*ReadAll(17, 5000), content_.substr(17, 5000));
  EXPECT_EQ(*ReadAll(17, 999), content_.substr(17, 999));
  EXPECT_EQ(*ReadAll(17, 0), "");
}

TEST_F(RangeReaderTest, ReadsNoMorePiecesAtOnceThanItMay) {
  std::atomic<int> reading = 0;
  std::atomic<int> most = 0;
  store_.SetPlan([&](const StoreCall&) {
    return StoreFault{.pause = [&] {
      const int now = ++reading;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      absl::SleepFor(absl::Milliseconds(2));
      --reading;
    }};
  });
  ASSERT_TRUE(ReadAll(0, content_.size()).ok());
  EXPECT_GT(most, 1);
  EXPECT_LE(most, 3);
}

TEST_F(RangeReaderTest, TellsWhereTheObjectEndsBeforeTheRange) {
  EXPECT_TRUE(absl::IsOutOfRange(ReadAll(0, content_.size() + 1).status()));
}

TEST_F(RangeReaderTest, MixesNoTwoVersions) {
  RangeReader reader(store_, "a", 0, content_.size(), {.piece_bytes = 1000, .at_once = 1});
  ASSERT_TRUE(reader.Next().ok());
  ASSERT_TRUE(memory_->Put("a", std::string(content_.size(), 'x')).ok());
  (void)reader.Next();  // Perhaps on its way before.
  EXPECT_TRUE(absl::IsAborted(reader.Next().status()));
}

}  // namespace
}  // namespace capstan
