#include "capstan/base/permutation.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace capstan {
namespace {

std::vector<uint64_t> All(uint64_t size, uint64_t seed, uint64_t stream) {
  const Permutation permutation(size, seed, stream);
  std::vector<uint64_t> places;
  for (uint64_t i = 0; i < size; ++i) places.push_back(permutation(i));
  return places;
}

TEST(PermutationTest, EveryPlaceIsHitOnce) {
  for (uint64_t size = 1; size < 300; ++size) {
    const std::vector<uint64_t> places = All(size, /*seed=*/7, /*stream=*/size);
    EXPECT_EQ(std::set<uint64_t>(places.begin(), places.end()).size(), size);
    for (const uint64_t place : places) EXPECT_LT(place, size);
  }
}

TEST(PermutationTest, AnotherSeedOrStreamIsAnotherOrder) {
  EXPECT_EQ(All(100, 1, 2), All(100, 1, 2));
  EXPECT_NE(All(100, 1, 2), All(100, 1, 3));
  EXPECT_NE(All(100, 1, 2), All(100, 2, 2));
}

// Each of 8 places is drawn 1000 times in 8000 orders; the deviation of that is 30.
TEST(PermutationTest, EveryPlaceIsAsLikelyAsAnother) {
  for (uint64_t place = 0; place < 8; ++place) {
    std::vector<int> drawn(8, 0);
    for (uint64_t stream = 0; stream < 8000; ++stream) {
      ++drawn[Permutation(8, /*seed=*/1, stream)(place)];
    }
    for (const int often : drawn) EXPECT_NEAR(often, 1000, 150);
  }
}

}  // namespace
}  // namespace capstan
