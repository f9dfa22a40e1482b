#include "capstan/store/before_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace capstan {
namespace {

constexpr size_t kImageBytes = 3;

std::string ImageOf(BeforeImages& images, uint64_t key) {
  const char* const image = images.Find(key);
  return image == nullptr ? "none" : std::string(image, kImageBytes);
}

TEST(BeforeImagesTest, EachKeyHasItsRowAsItWasWhateverBecomesOfTheRow) {
  BeforeImages images(kImageBytes);
  std::string row = "abc";
  images.Add(7, row.data());
  row = "xyz";
  images.Add(0, row.data());
  EXPECT_EQ(ImageOf(images, 7), "abc");
  EXPECT_EQ(ImageOf(images, 0), "xyz");
  EXPECT_EQ(ImageOf(images, 8), "none");
}

TEST(BeforeImagesTest, ManyImagesStayApart) {
  BeforeImages images(kImageBytes);
  for (int i = 0; i < 1000; ++i) {
    const std::string row = {static_cast<char>(i % 100), static_cast<char>(i / 100), '!'};
    images.Add(static_cast<uint64_t>(i), row.data());
  }
  EXPECT_EQ(ImageOf(images, 0), std::string("\0\0!", 3));
  EXPECT_EQ(ImageOf(images, 999), std::string("\x63\x09!", 3));
}

TEST(BeforeImagesTest, ItsKeysAreThoseThatWereAddedAndItsMemoryHoldsTheirRows) {
  BeforeImages images(kImageBytes);
  EXPECT_EQ(images.memory_bytes(), 0u);
  images.Add(7, "abc");
  images.Add(9, "def");
  std::vector<uint64_t> keys;
  images.ForEachKey([&](uint64_t key) { keys.push_back(key); });
  EXPECT_THAT(keys, testing::UnorderedElementsAre(7, 9));
  EXPECT_GE(images.memory_bytes(), 2 * (kImageBytes + 2 * sizeof(uint64_t)));
}

}  // namespace
}  // namespace capstan
