#include "tests/simulation/shared_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace capstan::simulation {
namespace {

using ::testing::ElementsAre;

std::vector<int> ValuesOf(const SharedVector<int>& shared) {
  return std::vector<int>(shared.begin(), shared.end());
}

TEST(SharedVectorTest, AnEditDoesNotShowInCopies) {
  SharedVector<int> shared;
  shared.push_back(1);
  shared.push_back(2);
  SharedVector<int> copy = shared;
  copy.Edit(0) = 5;
  shared.Edit(1) = 7;
  EXPECT_THAT(ValuesOf(shared), ElementsAre(1, 7));
  EXPECT_THAT(ValuesOf(copy), ElementsAre(5, 2));
}

TEST(SharedVectorTest, ATextIsMadeOnceForAllCopiesUntilItsElementIsEdited) {
  SharedVector<int> shared;
  shared.push_back(1);
  int made = 0;
  const auto make = [&made](int value) {
    ++made;
    return std::to_string(value);
  };
  EXPECT_EQ(shared.TextOf(0, make), "1");
  SharedVector<int> copy = shared;
  EXPECT_EQ(copy.TextOf(0, make), "1");
  EXPECT_EQ(made, 1);
  copy.Edit(0) = 2;
  EXPECT_EQ(copy.TextOf(0, make), "2");
  EXPECT_EQ(shared.TextOf(0, make), "1");
  EXPECT_EQ(made, 2);
  shared.Edit(0) = 3;
  EXPECT_EQ(shared.TextOf(0, make), "3");
}

}  // namespace
}  // namespace capstan::simulation
