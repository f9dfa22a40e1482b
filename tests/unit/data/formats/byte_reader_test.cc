#include "capstan/data/formats/byte_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/data/files.h"

namespace capstan {
namespace {

// Gives out "ab", and then nothing but errors.
class BrokenStream : public ByteStream {
 public:
  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    if (std::exchange(given_, true)) return absl::DataLossError("broken");
    buffer[0] = 'a';
    buffer[1] = 'b';
    return size_t{2};
  }

 private:
  bool given_ = false;
};

TEST(ByteReaderTest, WhatIsLookedAtIsNotTaken) {
  ByteReader bytes(NewTextStream("abcdef", /*piece=*/2), /*offset=*/100);
  EXPECT_EQ(*bytes.Peek(3), "abc");
  EXPECT_EQ(*bytes.Peek(5), "abcde");
  EXPECT_EQ(bytes.offset(), 100u);
  EXPECT_TRUE(*bytes.Skip(2));
  EXPECT_EQ(*bytes.Peek(2), "cd");
  EXPECT_EQ(bytes.offset(), 102u);
  EXPECT_EQ(*bytes.Peek(100), "cdef") << "at the end there is less";
  EXPECT_EQ(*bytes.Peek(0), "");
}

TEST(ByteReaderTest, MoreBytesThanAreLeftAreTakenUpToTheEnd) {
  ByteReader skipped(NewTextStream("abcdef", /*piece=*/4), /*offset=*/0);
  EXPECT_FALSE(*skipped.Skip(std::numeric_limits<uint64_t>::max()));
  EXPECT_EQ(skipped.offset(), 6u);
  ByteReader read(NewTextStream("abcdef", /*piece=*/4), /*offset=*/0);
  std::string text = "old";
  EXPECT_FALSE(*read.Read(7, text));
  EXPECT_EQ(text, "abcdef");
  EXPECT_EQ(read.offset(), 6u);
  EXPECT_TRUE(*read.Read(0, text));
  EXPECT_EQ(text, "");
  EXPECT_TRUE(*read.Skip(0));
  EXPECT_FALSE(*read.Skip(1));
}

TEST(ByteReaderTest, ASizeBeyondAllMemoryTakesNoneAhead) {
  ByteReader bytes(NewTextStream("abc", /*piece=*/1), /*offset=*/0);
  std::string text;
  EXPECT_FALSE(*bytes.Read(std::numeric_limits<size_t>::max(), text));
  EXPECT_EQ(text, "abc");
  EXPECT_LT(text.capacity(), 1000u);
}

TEST(ByteReaderTest, MoreThanItHoldsAtOnceComesWhole) {
  std::string long_text;
  for (int i = 0; long_text.size() < 700'000; ++i) long_text += std::to_string(i);
  ByteReader bytes(NewTextStream(long_text, /*piece=*/60'000), /*offset=*/0);
  EXPECT_TRUE(*bytes.Skip(10));
  EXPECT_EQ(*bytes.Peek(600'000), std::string_view(long_text).substr(10, 600'000));
  std::string text;
  EXPECT_TRUE(*bytes.Read(long_text.size() - 10, text));
  EXPECT_EQ(text, long_text.substr(10));
  EXPECT_EQ(bytes.offset(), long_text.size());
}

TEST(ByteReaderTest, AnErrorOfTheStreamIsReturned) {
  ByteReader bytes(std::make_unique<BrokenStream>(), /*offset=*/0);
  EXPECT_EQ(*bytes.Peek(2), "ab");
  EXPECT_EQ(bytes.Peek(3).status(), absl::DataLossError("broken"));
  EXPECT_EQ(*bytes.Peek(2), "ab") << "what has come before is still there";
  std::string text;
  EXPECT_EQ(bytes.Read(3, text).status(), absl::DataLossError("broken"));
  EXPECT_EQ(bytes.Skip(1).status(), absl::DataLossError("broken"));
}

}  // namespace
}  // namespace capstan
