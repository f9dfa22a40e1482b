#include "ps/transfer/received_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "capstan/base/crc32c.h"

namespace capstan::ps {
namespace {

TEST(ReceivedFileTest, IsWholeWithItsLastPiece) {
  ReceivedFile file;
  EXPECT_TRUE(file.Take({.offset = 0, .bytes = "abc"}).ok());
  EXPECT_FALSE(file.complete());
  EXPECT_TRUE(
      file.Take({.offset = 3, .bytes = "de", .last = true, .crc32c = Crc32c("abcde")}).ok());
  EXPECT_TRUE(file.complete());
  EXPECT_EQ(file.TakeBytes(), "abcde");
}

TEST(ReceivedFileTest, APieceThatHasBeenTakenChangesNothing) {
  ReceivedFile file;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(file.Take({.offset = 0, .bytes = "abc"}).ok());
  EXPECT_EQ(file.size(), 3u);
  EXPECT_EQ(*file.NewIn({.offset = 1, .bytes = "bc"}), 0u);
  const FilePiece last = {.offset = 3, .bytes = "de", .last = true, .crc32c = Crc32c("abcde")};
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(file.Take(last).ok());
  (void)file.TakeBytes();
  EXPECT_TRUE(file.Take(last).ok()) << "also when the bytes are given away";
  EXPECT_EQ(file.size(), 5u);
}

TEST(ReceivedFileTest, APieceOutOfPlaceIsRefused) {
  ReceivedFile file;
  EXPECT_TRUE(file.Take({.offset = 0, .bytes = "abc"}).ok());
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  for (const uint64_t offset : {uint64_t{2}, uint64_t{4}, kMost, kMost - 1}) {
    EXPECT_TRUE(absl::IsOutOfRange(file.Take({.offset = offset, .bytes = "de"}))) << offset;
  }
  EXPECT_TRUE(file.Take({.offset = 3, .bytes = "", .last = true, .crc32c = Crc32c("abc")}).ok());
  EXPECT_TRUE(absl::IsOutOfRange(file.Take({.offset = 3, .bytes = "d"}))) << "that was all";
}

TEST(ReceivedFileTest, AWrongChecksumIsDataLoss) {
  ReceivedFile file;
  EXPECT_TRUE(absl::IsDataLoss(file.Take({.offset = 0, .bytes = "abc", .last = true})));
  EXPECT_FALSE(file.complete());
}

}  // namespace
}  // namespace capstan::ps
