#include "capstan/config/spelling.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/string_view.h"

namespace capstan {
namespace {

TEST(EditDistanceTest, CountsSlips) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("cvs", "csv"), 1);  // Swapped.
  EXPECT_EQ(EditDistance("batch_sise", "batch_size"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(NearestTest, TakesOneSlipInAShortWordAndTwoInALongOne) {
  const absl::string_view names[] = {"keep", "uri", "every", "embedding_dim"};
  EXPECT_EQ(Nearest("kep", names), "keep");
  EXPECT_EQ(Nearest("kx", names), "");
  EXPECT_EQ(Nearest("embeding_dm", names), "embedding_dim");
  EXPECT_EQ(Nearest(std::string(100000, 'x'), names), "");
}

TEST(EditDistanceTest, IsTheSameInBothDirectionsAndCountsASwapOnce) {
  EXPECT_EQ(EditDistance("sitting", "kitten"), 3);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("ab", "ba"), 1);
  EXPECT_EQ(EditDistance("abcd", "badc"), 2) << "two swaps";
  EXPECT_EQ(EditDistance("ca", "abc"), 3) << "letters are not swapped around others";
}

TEST(NearestTest, TakesTheFirstOfThoseThatAreEquallyNearAndTheNearest) {
  const absl::string_view names[] = {"rate", "date", "late", "lane"};
  EXPECT_EQ(Nearest("hate", names), "rate");
  EXPECT_EQ(Nearest("lame", names), "late");
  EXPECT_EQ(Nearest("late", names), "late") << "it is there";
  EXPECT_EQ(Nearest("rate", {}), "");
  EXPECT_EQ(Nearest("", names), "");
}

TEST(NearestTest, AWordOfSixtyLettersIsComparedAndALongerOneIsNot) {
  const std::string sixty(60, 'a');
  const absl::string_view names[] = {sixty};
  EXPECT_EQ(Nearest(std::string(58, 'a') + "bb", names), sixty);
  EXPECT_EQ(Nearest(std::string(61, 'a'), names), "");
}

TEST(ShownTest, ALongTextIsCutAndALineOfTheMessageCannotBeForged) {
  EXPECT_EQ(Shown("abc"), "\"abc\"");
  EXPECT_EQ(Shown(""), "\"\"");
  EXPECT_EQ(Shown(std::string(60, 'a')), "\"" + std::string(60, 'a') + "\"");
  EXPECT_EQ(Shown(std::string(61, 'a')), "\"" + std::string(60, 'a') + "\"...");
  EXPECT_EQ(Shown("a\nb\"c"), "\"a\\nb\\\"c\"");
  EXPECT_EQ(Shown("abcdef", 3), "\"abc\"...");
}

TEST(ShownTest, IsCutBetweenCharacters) {
  std::string text = "x";
  for (int i = 0; i < 40; ++i) text += "\xC3\xBC";
  EXPECT_EQ(Shown(text), "\"" + text.substr(0, 59) + "\"...");
}

}  // namespace
}  // namespace capstan
