#include "capstan/optim/bfloat16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace capstan {
namespace {

TEST(Bfloat16Test, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(ToBfloat16(1.0f), 0x3F80);
  EXPECT_EQ(ToBfloat16(std::bit_cast<float>(0x3F808000u)), 0x3F80)
      << "a tie, to the even one below";
  EXPECT_EQ(ToBfloat16(std::bit_cast<float>(0x3F818000u)), 0x3F82)
      << "a tie, to the even one above";
  EXPECT_EQ(ToBfloat16(std::bit_cast<float>(0x3F808001u)), 0x3F81);
  EXPECT_EQ(ToBfloat16(std::numeric_limits<float>::max()), 0x7F80) << "infinity";
}

TEST(Bfloat16Test, ANanStaysANan) {
  // The payload is in the half that is cut off.
  const float nan = std::bit_cast<float>(0xFF800001u);
  EXPECT_EQ(ToBfloat16(nan), 0xFFC0);
  EXPECT_TRUE(std::isnan(FromBfloat16(ToBfloat16(nan))));
}

// Every upper half, with lower halves around the tie and at both ends.
std::vector<float> AllKindsOfFloats() {
  std::vector<float> floats;
  for (uint32_t high = 0; high < 0x10000; ++high) {
    for (uint32_t low : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      floats.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  return floats;
}

TEST(Bfloat16Test, ManyAtOnceAreTheSameBitsAsOneByOne) {
  const std::vector<float> floats = AllKindsOfFloats();
  std::vector<char> halves(2 * floats.size() + 1);
  char* const odd = halves.data() + 1;  // Messages align nothing.
  ToBfloat16(floats.data(), floats.size(), odd);
  std::vector<float> widened(floats.size());
  FromBfloat16(odd, floats.size(), widened.data());
  for (size_t i = 0; i < floats.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, odd + 2 * i, sizeof(half));
    const uint16_t expected = ToBfloat16(floats[i]);
    ASSERT_EQ(half, expected) << std::hex << std::bit_cast<uint32_t>(floats[i]);
    ASSERT_EQ(std::bit_cast<uint32_t>(widened[i]), uint32_t{expected} << 16);
  }
}

TEST(Bfloat16Test, AnyCountIsConvertedAndNothingBeyondIt) {
  for (size_t count = 0; count < 40; ++count) {
    const std::vector<float> floats(count, 1.5f);
    std::vector<uint16_t> halves(count + 1, 7);
    ToBfloat16(floats.data(), count, halves.data());
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(halves[i], 0x3FC0) << i << " of " << count;
    EXPECT_EQ(halves[count], 7) << count;
    std::vector<float> widened(count + 1, -1);
    FromBfloat16(halves.data(), count, widened.data());
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(widened[i], 1.5f) << i << " of " << count;
    EXPECT_EQ(widened[count], -1) << count;
  }
}

}  // namespace
}  // namespace capstan
