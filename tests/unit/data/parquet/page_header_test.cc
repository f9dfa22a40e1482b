#include "capstan/data/parquet/page_header.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/unit/data/parquet/thrift_struct.h"

namespace capstan::parquet {
namespace {

// The header of a page of 10 stored bytes.
std::string HeaderOf(int64_t kind, int id, const ThriftStruct& about) {
  return ThriftStruct().Int(1, kind).Int(2, 20).Int(3, 10).Struct(id, about).bytes();
}

Parsed ParsedAs(const std::string& bytes) {
  PageHeader header;
  return ParsePageHeader(bytes, header);
}

TEST(PageHeaderTest, APageOfTheFirstVersionSaysItsValuesAndEncodings) {
  const std::string bytes =
      ThriftStruct()
          .Int(1, 0)
          .Int(2, 20)
          .Int(3, 10)
          .Int(4, -2)
          .Struct(5, ThriftStruct().Int(1, 7).Int(2, 8).Int(3, 4).Int(4, 3).Struct(5, {}))
          .bytes();
  PageHeader header;
  ASSERT_EQ(ParsePageHeader(bytes + "body", header), Parsed::kYes);
  EXPECT_EQ(header.kind, 0);
  EXPECT_EQ(header.bytes, 20u);
  EXPECT_EQ(header.stored_bytes, 10u);
  EXPECT_EQ(header.crc, 0xFFFFFFFEu);
  EXPECT_EQ(header.values, 7u);
  EXPECT_EQ(header.encoding, 8);
  EXPECT_EQ(header.level_encoding, 4);
  EXPECT_EQ(header.header_bytes, bytes.size());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(ParsedAs(bytes.substr(0, size)), Parsed::kNeedsMore) << size;
  }
}

TEST(PageHeaderTest, APageOfTheSecondVersionSaysWhereItsLevelsEnd) {
  const ThriftStruct about =
      ThriftStruct().Int(1, 7).Int(2, 1).Int(3, 5).Int(4, 0).Int(5, 6).Int(6, 4).Flag(7, false);
  PageHeader header;
  ASSERT_EQ(ParsePageHeader(HeaderOf(3, 8, about), header), Parsed::kYes);
  EXPECT_EQ(header.values, 7u);
  EXPECT_EQ(header.encoding, 0);
  EXPECT_EQ(header.level_bytes, 6u);
  EXPECT_EQ(header.repetition_bytes, 4u);
  EXPECT_FALSE(header.compressed);
  EXPECT_FALSE(header.crc.has_value());
  ASSERT_EQ(ParsePageHeader(HeaderOf(3, 8, ThriftStruct().Int(1, 7)), header), Parsed::kYes);
  EXPECT_TRUE(header.compressed) << "which is so where nothing is said";
}

TEST(PageHeaderTest, ThatADictionaryIsSortedIsNoEncodingOfLevels) {
  PageHeader header;
  const ThriftStruct about = ThriftStruct().Int(1, 7).Int(2, 2).Flag(3, true);
  ASSERT_EQ(ParsePageHeader(HeaderOf(2, 7, about), header), Parsed::kYes);
  EXPECT_EQ(header.values, 7u);
  EXPECT_EQ(header.encoding, 2);
  EXPECT_EQ(header.level_encoding, 3);
}

TEST(PageHeaderTest, SizesThatNoPageHasAreMalformed) {
  const auto sizes = [](int64_t bytes, int64_t stored, int64_t values) {
    return ThriftStruct()
        .Int(1, 0)
        .Int(2, bytes)
        .Int(3, stored)
        .Struct(5, ThriftStruct().Int(1, values))
        .bytes();
  };
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  EXPECT_EQ(ParsedAs(sizes(kMost, kMost, kMost)), Parsed::kYes);
  for (const int64_t size : {int64_t{-1}, kMost + 1, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(ParsedAs(sizes(size, 1, 1)), Parsed::kMalformed) << size;
    EXPECT_EQ(ParsedAs(sizes(1, size, 1)), Parsed::kMalformed) << size;
    EXPECT_EQ(ParsedAs(sizes(1, 1, size)), Parsed::kMalformed) << size;
  }
  for (const int64_t levels : {int64_t{-1}, int64_t{11}}) {
    EXPECT_EQ(ParsedAs(HeaderOf(3, 8, ThriftStruct().Int(1, 1).Int(5, levels))),
              Parsed::kMalformed);
    EXPECT_EQ(ParsedAs(HeaderOf(3, 8, ThriftStruct().Int(1, 1).Int(6, levels))),
              Parsed::kMalformed);
  }
}

// Otherwise a page of kind 2^32 would be taken for one of kind 0.
TEST(PageHeaderTest, KindsAndEncodingsHaveThirtyTwoBits) {
  constexpr int64_t kFour = int64_t{1} << 32;
  EXPECT_EQ(ParsedAs(HeaderOf(9, 5, ThriftStruct().Int(1, 1))), Parsed::kYes);
  EXPECT_EQ(ParsedAs(HeaderOf(kFour, 5, ThriftStruct().Int(1, 1))), Parsed::kMalformed);
  EXPECT_EQ(ParsedAs(HeaderOf(-1, 5, ThriftStruct().Int(1, 1))), Parsed::kMalformed);
  for (const int64_t encoding : {kFour, -kFour}) {
    EXPECT_EQ(ParsedAs(HeaderOf(0, 5, ThriftStruct().Int(1, 1).Int(2, encoding))),
              Parsed::kMalformed);
  }
}

}  // namespace
}  // namespace capstan::parquet
