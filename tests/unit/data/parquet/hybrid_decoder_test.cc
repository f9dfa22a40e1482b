#include "capstan/data/parquet/hybrid_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/unit/data/bytes_of.h"

namespace capstan::parquet {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(HybridDecoderTest, ARunGoesOnFromCallToCall) {
  const std::string bytes = BytesOf({0x0A, 0x05});  // Five times 5.
  HybridDecoder values(bytes, /*bit_width=*/3);
  std::vector<uint32_t> some(2);
  ASSERT_TRUE(values.Read(some));
  EXPECT_THAT(some, ElementsAre(5, 5));
  some.assign(3, 0);
  ASSERT_TRUE(values.Read(some));
  EXPECT_THAT(some, Each(5));
  EXPECT_TRUE(values.Read({}));
  EXPECT_FALSE(values.Read(std::span(some).first(1)));
}

TEST(HybridDecoderTest, ValuesOfNoBitsTakeNoBytes) {
  const std::string bytes = BytesOf({0x06, 0x03});  // Three in a run, eight packed ones.
  HybridDecoder values(bytes, /*bit_width=*/0);
  std::vector<uint32_t> all(11, 7);
  ASSERT_TRUE(values.Read(all));
  EXPECT_THAT(all, Each(0));
  EXPECT_FALSE(values.Read(std::span(all).first(1)));
}

TEST(HybridDecoderTest, ValuesMayHaveThirtyTwoBits) {
  const std::string bytes = BytesOf({0x02, 0xFF, 0xFF, 0xFF, 0xFF, 0x03}) +
                            BytesOf({0xFE, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0}) + std::string(24, '\0');
  HybridDecoder values(bytes, /*bit_width=*/32);
  std::vector<uint32_t> all(9);
  ASSERT_TRUE(values.Read(all));
  EXPECT_THAT(all, ElementsAre(4294967295u, 4294967294u, 1, 0, 0, 0, 0, 0, 0));
}

TEST(HybridDecoderTest, APackedRunBehindAPackedRunBeginsWithItsOwnBits) {
  const std::string bytes = BytesOf({0x03, 0x0F, 0x03, 0xF0});
  HybridDecoder values(bytes, /*bit_width=*/1);
  std::vector<uint32_t> all(16);
  ASSERT_TRUE(values.Read(all));
  EXPECT_THAT(all, ElementsAre(1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1));
}

TEST(HybridDecoderTest, TheLastGroupNeedNotHaveTheBytesBehindItsLastValue) {
  const std::string bytes = BytesOf({0x03, 0x01, 0x02});
  HybridDecoder values(bytes, /*bit_width=*/8);
  std::vector<uint32_t> two(2);
  ASSERT_TRUE(values.Read(two));
  EXPECT_THAT(two, ElementsAre(1, 2));
  EXPECT_FALSE(values.Read(std::span(two).first(1)));
}

TEST(HybridDecoderTest, RunsOfNothingOrWithoutEndAreMalformed) {
  std::vector<uint32_t> one(1);
  for (const std::string& bytes :
       {BytesOf({0x00, 0x01}), BytesOf({0x01, 0x01}), BytesOf({0x80}), BytesOf({0x02}),
        BytesOf({0x80, 0x80, 0x80, 0x80, 0x20, 0x01})}) {
    HybridDecoder values(bytes, /*bit_width=*/1);
    EXPECT_FALSE(values.Read(one)) << bytes.size();
  }
  // The longest run, of 2^31 values.
  const std::string bytes = BytesOf({0x80, 0x80, 0x80, 0x80, 0x10, 0x01});
  HybridDecoder longest(bytes, /*bit_width=*/1);
  EXPECT_TRUE(longest.Read(one));
  EXPECT_EQ(one[0], 1u);
}

TEST(HybridDecoderTest, TheValueOfARunHasWholeBytes) {
  const std::string bytes = BytesOf({0x02, 0xFF, 0x01, 0x02, 0x01});
  HybridDecoder values(bytes, /*bit_width=*/9);
  std::vector<uint32_t> one(1);
  ASSERT_TRUE(values.Read(one));
  EXPECT_EQ(one[0], 511u);
  EXPECT_FALSE(values.Read(one)) << "the second byte of the value is missing";
}

}  // namespace
}  // namespace capstan::parquet
