#include "capstan/base/quote.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(QuotedTest, EscapesQuotesBackslashesAndControlBytes) {
  EXPECT_EQ(Quoted("a\"b\\c\n\x01\x7F"), R"("a\"b\\c\n\u0001\u007f")");
  EXPECT_EQ(Quoted(""), "\"\"");
  EXPECT_EQ(Quoted("\""), R"("\"")");
}

TEST(QuotedTest, KeepsWellFormedCharactersOfEveryLength) {
  const std::string text = "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80";
  EXPECT_EQ(Quoted(text), "\"" + text + "\"");
}

TEST(QuotedTest, ReplacesOverlongSurrogateTruncatedAndTooLargeCharacters) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(Quoted("\xC0\xAF"), "\"" + bad + bad + "\"");            // An overlong slash.
  EXPECT_EQ(Quoted("\xED\xA0\x80"), "\"" + bad + bad + bad + "\"");  // A surrogate.
  EXPECT_EQ(Quoted("\xE2\x82"), "\"" + bad + bad + "\"");            // Cut off.
  EXPECT_EQ(Quoted("\xF4\x90\x80\x80").size(), 2 + 4 * bad.size());  // Beyond U+10FFFF.
}

TEST(IsPlainWordTest, KnowsWhatNeedsQuotes) {
  EXPECT_TRUE(IsPlainWord("10.0.0.7:7000"));
  EXPECT_FALSE(IsPlainWord(""));
  EXPECT_FALSE(IsPlainWord("a b"));
  EXPECT_FALSE(IsPlainWord("a=b"));
  EXPECT_FALSE(IsPlainWord("\xC3\xA9"));
}

TEST(FirstBytesTest, LeavesOutACharacterThatWouldBeCut) {
  const std::string text = "\xC3\xA9 \xE2\x82\xAC";  // Characters of two bytes, and of three.
  EXPECT_EQ(FirstBytes(text, 6), text);
  EXPECT_EQ(FirstBytes(text, 100), text);
  EXPECT_EQ(FirstBytes(text, 5), "\xC3\xA9 ");
  EXPECT_EQ(FirstBytes(text, 4), "\xC3\xA9 ");
  EXPECT_EQ(FirstBytes(text, 3), "\xC3\xA9 ");
  EXPECT_EQ(FirstBytes(text, 1), "");
  EXPECT_EQ(FirstBytes(text, 0), "");
  EXPECT_EQ(FirstBytes("", 5), "");
}

TEST(LastBytesTest, LeavesOutACharacterThatWouldBeCut) {
  const std::string text = "\xC3\xA9 \xE2\x82\xAC";
  EXPECT_EQ(LastBytes(text, 6), text);
  EXPECT_EQ(LastBytes(text, 100), text);
  EXPECT_EQ(LastBytes(text, 5), " \xE2\x82\xAC");
  EXPECT_EQ(LastBytes(text, 3), "\xE2\x82\xAC");
  EXPECT_EQ(LastBytes(text, 2), "");
  EXPECT_EQ(LastBytes(text, 0), "");
  EXPECT_EQ(LastBytes("", 5), "");
}

}  // namespace
}  // namespace capstan
