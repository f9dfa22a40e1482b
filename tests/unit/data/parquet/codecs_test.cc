#include "capstan/data/parquet/codecs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/data/parquet/metadata.h"
#include "tests/unit/data/bytes_of.h"
#include "tests/unit/data/files.h"

namespace capstan::parquet {
namespace {

using testing::HasSubstr;

struct Packed {
  Codec codec;
  std::string bytes;  // What becomes "aaaaaaaa".
};

std::vector<Packed> EightLetters() {
  return {
      {Codec::kNone, "aaaaaaaa"},
      // The length, a letter as it is, and a copy of seven letters from one letter before.
      {Codec::kSnappy, BytesOf({0x08, 0x00, 'a', 0x0D, 0x01})},
      // Eight letters as they are.
      {Codec::kLz4Raw, BytesOf({0x80}) + "aaaaaaaa"},
      // Two members, and two frames.
      {Codec::kGzip, Gzip("aaa") + Gzip("aaaaa")},
      {Codec::kZstd, Zstd("aaa") + Zstd("aaaaa")},
  };
}

absl::Status Unpacked(const Packed& packed, uint64_t size, std::vector<char>& bytes) {
  return Decompress(static_cast<int64_t>(packed.codec), packed.bytes, size, bytes);
}

TEST(DecompressTest, EachCodecGivesTheBytesThatWereStored) {
  for (const Packed& packed : EightLetters()) {
    std::vector<char> bytes = {'o', 'l', 'd'};
    const absl::Status status = Unpacked(packed, 8, bytes);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "aaaaaaaa");
  }
}

TEST(DecompressTest, AnotherSizeThanThePageSaysIsDamage) {
  for (const Packed& packed : EightLetters()) {
    for (const uint64_t size : {1, 2, 7, 9, 5000}) {
      std::vector<char> bytes;
      const absl::Status status = Unpacked(packed, size, bytes);
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss)
          << static_cast<int>(packed.codec) << " " << size;
      EXPECT_THAT(std::string(status.message()), HasSubstr("of another length than its header"));
    }
  }
}

TEST(DecompressTest, BytesThatEndEarlyAreDamage) {
  for (const Packed& packed : EightLetters()) {
    std::vector<char> bytes;
    for (size_t size = 0; size < packed.bytes.size(); ++size) {
      EXPECT_FALSE(Unpacked({packed.codec, packed.bytes.substr(0, size)}, 8, bytes).ok())
          << static_cast<int>(packed.codec) << " " << size;
    }
  }
}

TEST(DecompressTest, APageOfNothingNeedsNoBytes) {
  for (const Packed& packed : EightLetters()) {
    std::vector<char> bytes = {'o', 'l', 'd'};
    EXPECT_TRUE(Unpacked({packed.codec, ""}, 0, bytes).ok());
    EXPECT_TRUE(bytes.empty());
  }
}

TEST(WhyUnsupportedCodecTest, ACodecIsKnownByAllOfItsNumber) {
  for (const Packed& packed : EightLetters()) {
    EXPECT_EQ(WhyUnsupportedCodec(static_cast<int64_t>(packed.codec)), "");
    EXPECT_THAT(WhyUnsupportedCodec(static_cast<int64_t>(packed.codec) + (int64_t{1} << 32)),
                HasSubstr("is compressed with codec 429496"));
  }
  EXPECT_EQ(WhyUnsupportedCodec(3),
            "is compressed with LZO; supported are SNAPPY, GZIP, ZSTD, LZ4_RAW and none");
  EXPECT_THAT(WhyUnsupportedCodec(5), HasSubstr("with LZ4; "));
  EXPECT_THAT(WhyUnsupportedCodec(-1), HasSubstr("with codec -1; "));
  EXPECT_THAT(WhyUnsupportedCodec(8), HasSubstr("with codec 8; "));
}

// The check value of this checksum's definition.
TEST(PageCrcTest, IsTheChecksumOfGzip) {
  EXPECT_EQ(PageCrc("123456789"), 0xCBF43926u);
  EXPECT_EQ(PageCrc(""), 0u);
}

}  // namespace
}  // namespace capstan::parquet
