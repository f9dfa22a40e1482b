#include "capstan/data/formats/numbers.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

float Parsed(std::string_view text) {
  float value = -12345;
  EXPECT_TRUE(ParseFloat(text, value)) << text;
  return value;
}

bool IsNumber(std::string_view text) {
  float value;
  return ParseFloat(text, value);
}

TEST(ParseFloatTest, ReadsIntegersFractionsAndExponents) {
  EXPECT_EQ(Parsed("0"), 0.0f);
  EXPECT_EQ(Parsed("9999999"), 9999999.0f);
  EXPECT_EQ(Parsed("123456789"), 123456789.0f);
  EXPECT_EQ(Parsed("-2"), -2.0f);
  EXPECT_EQ(Parsed("+1"), 1.0f);
  EXPECT_EQ(Parsed("0.1"), 0.1f);
  EXPECT_EQ(Parsed("-1.5e-3"), -0.0015f);
  EXPECT_EQ(Parsed(" 7 "), 7.0f);
}

TEST(ParseFloatTest, RefusesWhatIsNoFiniteNumber) {
  for (std::string_view text : {"", " ", "abc", "1x", "1 2", "nan", "NaN", "inf", "-inf", "1e99",
                                "--1", "+-1", "+", "0x10", "1,5"}) {
    EXPECT_FALSE(IsNumber(text)) << text;
  }
}

TEST(ParseDoubleTest, ReadsWhatParseFloatReadsWithAllDigitsOfADouble) {
  double value = 0;
  EXPECT_TRUE(ParseDouble(" 123456789.25", value));
  EXPECT_EQ(value, 123456789.25);
  EXPECT_TRUE(ParseDouble("-1e99", value));
  EXPECT_EQ(value, -1e99);
  for (std::string_view text : {"", "abc", "1x", "nan", "inf", "1e999", "+-1", "1,5"}) {
    EXPECT_FALSE(ParseDouble(text, value)) << text;
  }
}

TEST(ParseIndexTest, ReadsAllOf64BitsAndNothingElse) {
  uint64_t index = 0;
  EXPECT_TRUE(ParseIndex("18446744073709551615", index));
  EXPECT_EQ(index, ~uint64_t{0});
  for (std::string_view text : {"", "18446744073709551616", "-1", "+1", "1.0", " 1", "a"}) {
    EXPECT_FALSE(ParseIndex(text, index)) << text;
  }
}

}  // namespace
}  // namespace capstan
