#include "capstan/data/formats/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Lines(const std::string& text, size_t piece) {
  LineReader reader("f", NewTextStream(text, piece), 0);
  std::vector<std::string> lines;
  for (std::string_view line; reader.Next(line);) lines.emplace_back(line);
  EXPECT_TRUE(reader.status().ok());
  return lines;
}

TEST(LineReaderTest, GivesTheSameLinesHoweverTheBytesArrive) {
  for (size_t piece : {1, 2, 3, 100}) {
    EXPECT_THAT(Lines("a\nbb\r\n\nlast", piece), ElementsAre("a", "bb", "", "last"));
    EXPECT_THAT(Lines("a\n", piece), ElementsAre("a"));
    EXPECT_THAT(Lines("", piece), ElementsAre());
  }
}

TEST(LineReaderTest, TakesOffAByteOrderMarkAtTheFrontOnly) {
  EXPECT_THAT(Lines("\xEF\xBB\xBF"
                    "1,2\n\xEF\xBB\xBF"
                    "3\n",
                    100),
              ElementsAre("1,2",
                          "\xEF\xBB\xBF"
                          "3"));
}

TEST(LineReaderTest, KnowsWhereEachLineBegins) {
  LineReader reader("f", NewTextStream("ab\r\nc\n", 2), /*offset=*/100);
  std::string_view line;
  ASSERT_TRUE(reader.Next(line));
  EXPECT_EQ(reader.line_offset(), 100u);
  EXPECT_EQ(reader.next_offset(), 104u);
  ASSERT_TRUE(reader.Next(line));
  EXPECT_EQ(reader.line_offset(), 104u);
}

TEST(LineReaderTest, GrowsForALongLine) {
  const std::string longest(3 << 20, 'x');
  EXPECT_THAT(Lines("a\n" + longest + "\nb", 1 << 16), ElementsAre("a", longest, "b"));
}

TEST(LineReaderTest, RefusesALineWithoutEnd) {
  LineReader reader("f", NewTextStream(std::string(LineReader::kMaxLine + 1, 'x'), 1 << 20), 0);
  std::string_view line;
  EXPECT_FALSE(reader.Next(line));
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(reader.status().message()), HasSubstr("f: byte 0: a line of more than"));
}

}  // namespace
}  // namespace capstan
