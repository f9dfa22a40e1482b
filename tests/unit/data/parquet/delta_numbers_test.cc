#include "capstan/data/parquet/delta_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/data/bytes_of.h"

namespace capstan::parquet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kLeastNumber = std::numeric_limits<int64_t>::min();
constexpr int64_t kMostNumber = std::numeric_limits<int64_t>::max();

// All values, up to the first that cannot be read.
std::vector<int64_t> NumbersIn(const std::string& bytes) {
  DeltaNumbers numbers(bytes);
  std::vector<int64_t> values;
  for (int64_t value = 0; numbers.Next(value);) values.push_back(value);
  return values;
}

TEST(DeltaNumbersTest, OneValueNeedsNoBlock) {
  const std::string bytes = BytesOf({0x80, 0x01, 4, 1, 9}) + "behind";
  EXPECT_THAT(NumbersIn(bytes), ElementsAre(-5));
  EXPECT_EQ(DeltaNumbers(bytes).Behind(), "behind");
}

TEST(DeltaNumbersTest, NoValueAtAllIsNoDamage) {
  const std::string bytes = BytesOf({0x80, 0x01, 4, 0, 0}) + "behind";
  EXPECT_THAT(NumbersIn(bytes), IsEmpty());
  EXPECT_EQ(DeltaNumbers(bytes).Behind(), "behind");
}

// The format says that readers must accept any widths there.
TEST(DeltaNumbersTest, TheWidthsOfMiniblocksThatAreNotNeededMayBeAnything) {
  const std::string bytes =
      BytesOf({0x80, 0x01, 4, 2, 0, /*least=*/1, /*widths=*/0, 255, 255, 255}) + "behind";
  EXPECT_THAT(NumbersIn(bytes), ElementsAre(0, -1));
  EXPECT_EQ(DeltaNumbers(bytes).Behind(), "behind");
}

TEST(DeltaNumbersTest, DifferencesWrapAround) {
  const std::string most = BytesOf({0xFE}) + std::string(8, '\xFF') + BytesOf({0x01});
  EXPECT_THAT(NumbersIn(BytesOf({8, 1, 2}) + most + BytesOf({/*least=*/2, /*width=*/0})),
              ElementsAre(kMostNumber, kLeastNumber));
}

TEST(DeltaNumbersTest, DifferencesMayHaveSixtyFourBits) {
  const std::string bytes = BytesOf({8, 1, 3, 0, 0, 64}) + std::string(8, '\xFF') +
                            BytesOf({2, 0, 0, 0, 0, 0, 0, 0}) + std::string(48, '\0');
  EXPECT_THAT(NumbersIn(bytes), ElementsAre(0, -1, 1));
}

TEST(DeltaNumbersTest, ADifferenceMayLieInNineBytes) {
  // The second difference of 63 bits is 2^62: bit 125 of the miniblock.
  std::string miniblock(63, '\0');
  miniblock[15] = '\x20';
  EXPECT_THAT(NumbersIn(BytesOf({8, 1, 3, 0, 0, 63}) + miniblock),
              ElementsAre(0, 0, int64_t{1} << 62));
}

TEST(DeltaNumbersTest, SizesThatCannotBeAreMalformed) {
  const std::string rest = BytesOf({1, 0}) + "behind";
  for (const std::string& sizes : {
           BytesOf({8, 0}),                 // No miniblocks.
           BytesOf({8, 3}),                 // They do not make the block.
           BytesOf({4, 1}),                 // A miniblock is no whole bytes.
           BytesOf({0, 1}),                 // No values in a block.
           BytesOf({0x80, 0x80, 0x02, 1}),  // 2^15 values in a block.
       }) {
    EXPECT_THAT(NumbersIn(sizes + rest), IsEmpty());
    EXPECT_EQ(DeltaNumbers(sizes + rest).Behind(), "");
  }
  EXPECT_THAT(NumbersIn(BytesOf({0x80, 0x80, 0x01, 1}) + rest), ElementsAre(0));
}

TEST(DeltaNumbersTest, BytesThatEndEarlyGiveWhatIsWhole) {
  const std::string bytes = BytesOf({8, 1, 3, 2, 0, 8, 1, 1, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(NumbersIn(bytes), ElementsAre(1, 2, 3));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(NumbersIn(bytes.substr(0, size)).size(), size < 4 ? 0u : 1u) << size;
    EXPECT_EQ(DeltaNumbers(bytes.substr(0, size)).Behind(), "") << size;
  }
  EXPECT_THAT(NumbersIn(BytesOf({8, 1, 2, 0, 0, 65}) + std::string(80, '\0')), ElementsAre(0))
      << "no difference has 65 bits";
}

TEST(DeltaNumbersTest, WhatIsBehindTheValuesDoesNotDependOnHowManyAreRead) {
  const std::string bytes = BytesOf({8, 1, 4, 0, 0, 8, 1, 1, 1, 0, 0, 0, 0, 0}) + "behind";
  DeltaNumbers numbers(bytes);
  EXPECT_EQ(numbers.Behind(), "behind");
  for (int64_t expected = 0; expected < 4; ++expected) {
    int64_t value = 0;
    ASSERT_TRUE(numbers.Next(value));
    EXPECT_EQ(value, expected);
    EXPECT_EQ(numbers.Behind(), "behind") << expected;
  }
}

}  // namespace
}  // namespace capstan::parquet
