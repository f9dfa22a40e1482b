#include "capstan/data/formats/dictionary_keys.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "capstan/base/hash.h"

namespace capstan {
namespace {

// `rows` rows of `columns` keys, of which each column has at most `different`.
std::vector<uint64_t> SomeKeys(size_t rows, size_t columns, uint64_t different) {
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < rows * columns; ++i) {
    keys.push_back(Mix64(Draw(/*seed=*/1, i % columns, i) % different) ^ (i % columns));
  }
  return keys;
}

std::vector<uint64_t> Unpacked(const DictionaryKeys& packed, size_t begin, size_t end) {
  std::vector<uint64_t> keys = {99};
  packed.AppendTo(begin, end, keys);
  EXPECT_EQ(keys.front(), 99u) << "what is there stays";
  keys.erase(keys.begin());
  return keys;
}

TEST(DictionaryKeysTest, AnyRangeOfPlacesHasItsKeysAgain) {
  const std::vector<uint64_t> keys = SomeKeys(/*rows=*/100, /*columns=*/3, /*different=*/7);
  const std::optional<DictionaryKeys> packed = DictionaryKeys::Pack(keys, 3);
  ASSERT_TRUE(packed.has_value());
  for (size_t begin = 0; begin < keys.size(); begin += 7) {
    for (size_t end = begin; end <= keys.size(); end += 11) {
      ASSERT_EQ(Unpacked(*packed, begin, end),
                std::vector<uint64_t>(keys.begin() + static_cast<ptrdiff_t>(begin),
                                      keys.begin() + static_cast<ptrdiff_t>(end)));
    }
  }
}

TEST(DictionaryKeysTest, APlaceTakesTwoBytesAndAKeyOfAColumnEight) {
  const std::vector<uint64_t> keys = SomeKeys(/*rows=*/1000, /*columns=*/5, /*different=*/1);
  const std::optional<DictionaryKeys> packed = DictionaryKeys::Pack(keys, 5);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(packed->bytes(), 5000u * 2 + 5 * (8 + 4));
}

TEST(DictionaryKeysTest, ColumnsLongerThanTwoBytesCanNumberArePackedInPieces) {
  // Each key occurs in three rows, one after another, or in two places of the row.
  std::vector<uint64_t> keys;
  for (uint64_t row = 0; row < 200'000; ++row) {
    keys.push_back(Mix64(row / 3));
    keys.push_back(7);
  }
  const std::optional<DictionaryKeys> packed = DictionaryKeys::Pack(keys, 2);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(Unpacked(*packed, 0, keys.size()), keys);
  const size_t end = size_t{2} << 16;
  EXPECT_EQ(Unpacked(*packed, end - 3, end + 3),
            std::vector<uint64_t>(keys.begin() + static_cast<ptrdiff_t>(end - 3),
                                  keys.begin() + static_cast<ptrdiff_t>(end + 3)));
}

TEST(DictionaryKeysTest, KeysOfWhichHardlyOneOccursTwiceAreNotPacked) {
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 1000; ++i) keys.push_back(Mix64(i));
  EXPECT_FALSE(DictionaryKeys::Pack(keys, 1).has_value());
  EXPECT_FALSE(DictionaryKeys::Pack(keys, 4).has_value());
  for (uint64_t i = 0; i < 3000; ++i) keys.push_back(Mix64(i % 1000));
  EXPECT_TRUE(DictionaryKeys::Pack(keys, 1).has_value()) << "each occurs four times now";
}

TEST(DictionaryKeysTest, WhetherItIsWorthItIsAskedOfAllPiecesTogether) {
  constexpr uint64_t kPiece = uint64_t{1} << 16;
  const auto once_after = [](uint64_t sevens, uint64_t different) {
    std::vector<uint64_t> keys(sevens, 7);
    for (uint64_t i = 0; i < different; ++i) keys.push_back(Mix64(i));
    return keys;
  };
  const std::vector<uint64_t> few = once_after(3 * kPiece, kPiece);
  const std::optional<DictionaryKeys> packed = DictionaryKeys::Pack(few, 1);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(Unpacked(*packed, 0, few.size()), few);
  EXPECT_FALSE(DictionaryKeys::Pack(once_after(kPiece, 3 * kPiece), 1).has_value());
}

TEST(DictionaryKeysTest, NoKeysTakeNothing) {
  const std::optional<DictionaryKeys> packed = DictionaryKeys::Pack({}, 1);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(packed->bytes(), 0u);
  EXPECT_TRUE(Unpacked(*packed, 0, 0).empty());
}

}  // namespace
}  // namespace capstan
