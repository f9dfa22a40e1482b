#include "capstan/data/synthetic/zipf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "capstan/base/hash.h"

namespace capstan {
namespace {

using testing::ElementsAre;

TEST(ZipfTest, DrawsThePublishedSequence) {
  Zipf zipf(1000000, /*shift=*/0);
  std::vector<uint32_t> ids;
  for (uint64_t i = 0; i < 5; ++i) ids.push_back(zipf(Draw(7, 2, i)));
  EXPECT_THAT(ids, ElementsAre(260881, 867221, 859296, 834092, 679747));
}

// The definition, searched from the front.
uint32_t SlowValue(uint32_t n, uint32_t shift, uint64_t bits) {
  double total = 0;
  for (uint32_t rank = 0; rank < n; ++rank) total += std::pow(rank + 1.0, -1.05);
  double sum = 0;
  uint32_t rank = 0;
  for (; rank + 1 < n; ++rank) {
    sum += std::pow(rank + 1.0, -1.05);
    if (sum / total > Unit(bits)) break;
  }
  uint64_t a = std::max<uint64_t>(1, static_cast<uint64_t>(0.6180339887 * n));
  while (std::gcd(a, uint64_t{n}) != 1) ++a;
  return static_cast<uint32_t>((rank * a + shift) % n);
}

TEST(ZipfTest, AgreesWithTheDefinitionForEverySmallSize) {
  for (uint32_t n = 1; n <= 60; ++n) {
    Zipf zipf(n, /*shift=*/3);
    for (uint64_t i = 0; i < 200; ++i) {
      ASSERT_EQ(zipf(Draw(1, n, i)), SlowValue(n, 3, Draw(1, n, i))) << n << " " << i;
    }
    ASSERT_EQ(zipf(0), SlowValue(n, 3, 0));
    ASSERT_EQ(zipf(~uint64_t{0}), SlowValue(n, 3, ~uint64_t{0}));
  }
}

}  // namespace
}  // namespace capstan
