#include "capstan/data/formats/looks_like.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan {
namespace {

using testing::HasSubstr;

TEST(LooksLikeTest, KnowsWhatIsOftenTakenForCsv) {
  EXPECT_THAT(LooksLike("PAR1\x15\x04"), HasSubstr("a Parquet file: format: parquet reads it"));
  EXPECT_THAT(LooksLike(std::string_view("\x8a\x01\0\0\0\0\0\0xyz", 11)), HasSubstr("a TFRecord"));
  EXPECT_THAT(LooksLike("PK\x03\x04..."), HasSubstr("a zip or xlsx file"));
  EXPECT_THAT(LooksLike(std::string_view("\0\0\x08\x03", 4)), HasSubstr("a binary file"));
}

TEST(LooksLikeTest, KnowsOtherSeparators) {
  EXPECT_THAT(LooksLike("5.1;3.5;1.4\n4,9\n"), HasSubstr("cells with ';' between them"));
  EXPECT_THAT(LooksLike("1|24|M\n"), HasSubstr("cells with '|' between them"));
  EXPECT_THAT(LooksLike("1\t24\n"), HasSubstr("format: tsv reads them"));
  EXPECT_THAT(LooksLike("1,24\n"), HasSubstr("format: csv reads them"));
  EXPECT_THAT(LooksLike("1 3:0.5 7:1\n"), HasSubstr("libsvm or libfm"));
}

TEST(LooksLikeTest, HasNothingToSayOfASingleColumn) {
  EXPECT_EQ(LooksLike("17\n18\n"), "");
  EXPECT_EQ(LooksLike(""), "");
}

}  // namespace
}  // namespace capstan
