#include "capstan/base/utf8.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(CharacterLengthTest, IsThatOfTheFirstCharacterAlone) {
  EXPECT_EQ(CharacterLength("plain"), 1u);
  EXPECT_EQ(CharacterLength("\xC3\xA9t\xC3\xA9"), 2u);
  EXPECT_EQ(CharacterLength("\xE2\x82\xAC"), 3u);
  EXPECT_EQ(CharacterLength("\xF0\x9F\x98\x80\xFF"), 4u);
}

TEST(CharacterLengthTest, IsZeroWhereThereIsNone) {
  EXPECT_EQ(CharacterLength("\xE9.csv"), 0u);          // Latin-1.
  EXPECT_EQ(CharacterLength("\xA9"), 0u);              // The middle of a character.
  EXPECT_EQ(CharacterLength("\xC0\xAF"), 0u);          // An overlong slash,
  EXPECT_EQ(CharacterLength("\xE0\x82\x9B"), 0u);      // control sequence introducer,
  EXPECT_EQ(CharacterLength("\xF0\x80\x82\x9B"), 0u);  // and once more.
  EXPECT_EQ(CharacterLength("\xED\xA0\x80"), 0u);      // A surrogate.
  EXPECT_EQ(CharacterLength("\xF4\x90\x80\x80"), 0u);  // Beyond U+10FFFF.
  EXPECT_EQ(CharacterLength("\xE2\x82"), 0u);          // Cut off.
}

TEST(IsUtf8Test, RefusesWhatNoFieldOfTextMayHold) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("plain \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"));
  EXPECT_FALSE(IsUtf8("caf\xE9.csv"));
  EXPECT_FALSE(IsUtf8("part-\xE2\x82"));
}

}  // namespace
}  // namespace capstan
