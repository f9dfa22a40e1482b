#include "capstan/data/parquet/thrift_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "tests/unit/data/bytes_of.h"

namespace capstan::parquet {
namespace {

TEST(ThriftReaderTest, AFieldIsToldByItsDifferenceToTheOneBeforeOrByItsId) {
  // Field 1 is 1; field 50, whose id is written out, is -2.
  const std::string bytes = BytesOf({0x15, 0x02, 0x05, 0x64, 0x03, 0x00});
  ThriftReader in(bytes);
  ThriftField field;
  ASSERT_TRUE(in.Next(field));
  EXPECT_EQ(field.id, 1);
  EXPECT_EQ(in.Integer(field), 1);
  ASSERT_TRUE(in.Next(field));
  EXPECT_EQ(field.id, 50);
  EXPECT_EQ(in.Integer(field), -2);
  EXPECT_FALSE(in.Next(field));
  EXPECT_FALSE(in.failed());
  EXPECT_EQ(in.position(), bytes.size());
}

TEST(ThriftReaderTest, TheLargestAndTheSmallestNumbersComeOutWhole) {
  const std::string bytes = BytesOf({0x16, 0xFE}) + std::string(8, '\xFF') + BytesOf({0x01}) +
                            BytesOf({0x16, 0xFF}) + std::string(8, '\xFF') + BytesOf({0x01}) +
                            BytesOf({0x13, 0x80});
  ThriftReader in(bytes);
  ThriftField field;
  ASSERT_TRUE(in.Next(field));
  EXPECT_EQ(in.Integer(field), std::numeric_limits<int64_t>::max());
  ASSERT_TRUE(in.Next(field));
  EXPECT_EQ(in.Integer(field), std::numeric_limits<int64_t>::min());
  ASSERT_TRUE(in.Next(field));
  EXPECT_EQ(in.Integer(field), -128) << "a single byte has a sign, and is no zigzag number";
  EXPECT_FALSE(in.failed());
}

TEST(ThriftReaderTest, AnIdOfMoreThanSixteenBitsIsMalformed) {
  const std::string bytes = BytesOf({0x05, 0x80, 0xF1, 0x04, 0x02, 0x00});  // Id 40000.
  ThriftReader in(bytes);
  ThriftField field;
  EXPECT_FALSE(in.Next(field));
  EXPECT_TRUE(in.failed());
  EXPECT_FALSE(in.ended_early());
}

TEST(ThriftReaderTest, AnotherTypeThanExpectedFailsForGood) {
  const std::string bytes = BytesOf({0x18, 0x01, 'a', 0x15, 0x02, 0x00});
  ThriftReader in(bytes);
  ThriftField field;
  ASSERT_TRUE(in.Next(field));
  EXPECT_EQ(in.Integer(field), 0);
  EXPECT_TRUE(in.failed());
  EXPECT_FALSE(in.ended_early());
  EXPECT_FALSE(in.Next(field));
  EXPECT_EQ(in.Binary({1, ThriftType::kBinary}), "");
}

TEST(ThriftReaderTest, ATextThatClaimsMoreBytesThanThereAreEndsEarly) {
  for (const std::string& length :
       {BytesOf({0x05}), std::string(9, '\xFF') + BytesOf({0x01}), BytesOf({0x80})}) {
    const std::string bytes = BytesOf({0x18}) + length;
    ThriftReader in(bytes);
    ThriftField field;
    ASSERT_TRUE(in.Next(field));
    EXPECT_EQ(in.Binary(field), "");
    EXPECT_TRUE(in.failed());
    EXPECT_TRUE(in.ended_early());
  }
}

TEST(ThriftReaderTest, AListHasTheTypeThatIsExpectedAndNoMoreValuesThanBytes) {
  const auto size_of = [](const std::string& bytes, ThriftType element, bool& failed) {
    ThriftReader in(bytes);
    ThriftField field;
    EXPECT_TRUE(in.Next(field));
    const size_t size = in.List(field, element);
    failed = in.failed();
    return size;
  };
  bool failed = false;
  EXPECT_EQ(size_of(BytesOf({0x19, 0x25, 2, 4}), ThriftType::kInteger, failed), 2u);
  EXPECT_FALSE(failed);
  EXPECT_EQ(size_of(BytesOf({0x19, 0xF5, 2, 2, 4}), ThriftType::kInteger, failed), 2u);
  EXPECT_FALSE(failed);
  EXPECT_EQ(size_of(BytesOf({0x19, 0xF5, 3, 2, 4}), ThriftType::kInteger, failed), 0u);
  EXPECT_TRUE(failed);
  EXPECT_EQ(size_of(BytesOf({0x19, 0x25, 2, 4}), ThriftType::kStruct, failed), 0u);
  EXPECT_TRUE(failed);
  EXPECT_EQ(size_of(BytesOf({0x19, 0x05}), ThriftType::kStruct, failed), 0u);
  EXPECT_FALSE(failed) << "an empty list has values of no type";
}

TEST(ThriftReaderTest, ValuesOfAllTypesAreSkippedToTheirEnds) {
  const std::string bytes = BytesOf({0x11}) + BytesOf({0x13, 0x7F}) + BytesOf({0x14, 0x02}) +
                            BytesOf({0x17, 1, 2, 3, 4, 5, 6, 7, 8}) + BytesOf({0x18, 1, 'a'}) +
                            BytesOf({0x19, 0x21, 1, 2}) +          // A list of two flags.
                            BytesOf({0x1A, 0x15, 0x02}) +          // A set of one number.
                            BytesOf({0x1B, 1, 0x85, 1, 'k', 2}) +  // A map from text to number.
                            BytesOf({0x1B, 0}) +                   // An empty map.
                            BytesOf({0x1C, 0x15, 0x02, 0x00}) +    // A struct.
                            BytesOf({0x15, 0x0E, 0x00});           // Field 11 is 7.
  ThriftReader in(bytes);
  ThriftField field;
  for (int id = 1; id <= 10; ++id) {
    ASSERT_TRUE(in.Next(field));
    ASSERT_EQ(field.id, id);
    in.Skip(field);
  }
  ASSERT_TRUE(in.Next(field));
  EXPECT_EQ(field.id, 11);
  EXPECT_EQ(in.Integer(field), 7);
  EXPECT_FALSE(in.Next(field));
  EXPECT_FALSE(in.failed());
}

TEST(ThriftReaderTest, ThirtyTwoStructsWithinEachOtherAreSkippedAndOneMoreIsMalformed) {
  for (const size_t depth : {32, 33}) {
    const std::string bytes = std::string(depth, '\x1C') + std::string(depth + 1, '\0');
    ThriftReader in(bytes);
    ThriftField field;
    ASSERT_TRUE(in.Next(field));
    in.Skip(field);
    EXPECT_EQ(in.failed(), depth == 33);
    EXPECT_FALSE(in.Next(field));
  }
}

}  // namespace
}  // namespace capstan::parquet
