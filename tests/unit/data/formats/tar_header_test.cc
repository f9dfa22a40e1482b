#include "capstan/data/formats/tar_header.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"
#include "tests/unit/data/bytes_of.h"
#include "tests/unit/data/sample_files.h"

namespace capstan {
namespace {

constexpr size_t kSizePlace = 124;

// The block with its right sum; `sign`: that of old programs, which took bytes for signed numbers.
std::string WithItsSum(std::string block, bool sign = false) {
  block.replace(148, 8, "        ");
  int sum = 0;
  for (const char c : block) sum += sign ? static_cast<int8_t>(c) : static_cast<uint8_t>(c);
  block.replace(148, 8, absl::StrFormat("%06o", sum) + std::string("\0 ", 2));
  return block;
}

std::string WithSizeField(const std::string& field) {
  std::string block = TarBlock("a.jpg", 0);
  block.replace(kSizePlace, 12, field);
  return WithItsSum(block);
}

TEST(ParseTarHeaderTest, ABlockSaysNameSizeAndKind) {
  const auto header = ParseTarHeader(TarBlock("train/1.jpg", 1234, '7') + "content");
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->name, "train/1.jpg");
  EXPECT_EQ(header->size, 1234u);
  EXPECT_EQ(header->kind, '7');
  EXPECT_TRUE(header->is_file());
  EXPECT_EQ(ParseTarHeader(TarBlock(std::string(100, 'n'), 0))->name, std::string(100, 'n'));
}

TEST(ParseTarHeaderTest, AnyOtherByteMakesItNoHeader) {
  const std::string block = TarBlock("train/1.jpg", 1234);
  for (size_t i = 0; i < block.size(); ++i) {
    if (i == 155) continue;  // The space behind the sum says nothing.
    std::string damaged = block;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(ParseTarHeader(damaged).has_value()) << i;
  }
  EXPECT_FALSE(ParseTarHeader(block.substr(0, 511)).has_value());
  EXPECT_FALSE(ParseTarHeader("").has_value());
}

TEST(ParseTarHeaderTest, ASizeIsOctalDigitsOrBytesBehindAMark) {
  EXPECT_EQ(ParseTarHeader(WithSizeField("777777777777"))->size, 68719476735u);
  EXPECT_EQ(ParseTarHeader(WithSizeField(std::string("     17 \0\0\0\0", 12)))->size, 15u);
  EXPECT_EQ(ParseTarHeader(WithSizeField(std::string(12, '\0')))->size, 0u);
  const std::string most = BytesOf({0x80, 0, 0, 0, 0x7F}) + std::string(7, '\xFF');
  EXPECT_EQ(ParseTarHeader(WithSizeField(most))->size, 9223372036854775807u);
}

TEST(ParseTarHeaderTest, ASizeThatIsNoneMakesItNoHeader) {
  for (const std::string& field :
       {std::string("00000000008\0", 12), std::string("-0000000001\0", 12),
        BytesOf({0x80, 0, 0, 0, 0x80}) + std::string(7, '\0'), std::string(12, '\xFF')}) {
    EXPECT_FALSE(ParseTarHeader(WithSizeField(field)).has_value());
  }
}

TEST(ParseTarHeaderTest, ASumOfSignedBytesIsRightToo) {
  std::string block = TarBlock("\xE9t\xE9.jpg", 5);
  ASSERT_TRUE(ParseTarHeader(block).has_value());
  EXPECT_EQ(ParseTarHeader(WithItsSum(block, /*sign=*/true))->name, "\xE9t\xE9.jpg");
}

TEST(ParseTarHeaderTest, TheFrontOfALongNameIsThatOfPosixAlone) {
  std::string posix = TarBlock("1.jpg", 5);
  posix.replace(345, 4, "deep");
  EXPECT_EQ(ParseTarHeader(WithItsSum(posix))->name, "deep/1.jpg");
  std::string gnu = posix;
  gnu.replace(257, 8, std::string("ustar  \0", 8));
  EXPECT_EQ(ParseTarHeader(WithItsSum(gnu))->name, "1.jpg");
}

TarHeader Extended(char kind, const std::string& content) {
  TarHeader header = {.name = "short", .size = 3};
  ApplyTarExtension(kind, content, header);
  return header;
}

TEST(ApplyTarExtensionTest, RecordsOfPaxSayNameAndSize) {
  const TarHeader both = Extended('x', "11 path=ab\n12 mtime=12\n10 size=7\n");
  EXPECT_EQ(both.name, "ab");
  EXPECT_EQ(both.size, 7u);
  EXPECT_EQ(Extended('x', "12 path=a=b\n").name, "a=b");
  EXPECT_EQ(Extended('x', "11 path=a\nb\n").name, "a\n") << "a length counts, not an end of line";
}

TEST(ApplyTarExtensionTest, RecordsWhoseLengthsLieChangeNothing) {
  for (const char* content :
       {"", "12 path=ab\n", "2 path=ab\n", "0 path=ab\n", "-11 path=ab\n", "path=ab\n",
        "18446744073709551627 path=ab\n", "8 pathab\n", "10 size=x\n"}) {
    const TarHeader header = Extended('x', content);
    EXPECT_EQ(header.name, "short") << content;
    EXPECT_EQ(header.size, 3u) << content;
  }
}

TEST(ApplyTarExtensionTest, ALongNameOfGnuEndsWithAZeroAndOtherExtensionsSayNothing) {
  EXPECT_EQ(Extended('L', std::string("long/name\0\0", 11)).name, "long/name");
  EXPECT_EQ(Extended('L', "long/name").name, "long/name");
  EXPECT_EQ(Extended('K', "a link").name, "short");
  EXPECT_EQ(Extended('g', "11 path=ab\n").name, "short");
}

}  // namespace
}  // namespace capstan
