#include "capstan/data/parquet/cell_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

namespace capstan::parquet {
namespace {

TEST(CellTextTest, ANumberIsWrittenAsACsvWouldHaveIt) {
  EXPECT_EQ(CellText(std::numeric_limits<int64_t>::min()).view(), "-9223372036854775808");
  EXPECT_EQ(CellText(std::numeric_limits<uint64_t>::max()).view(), "18446744073709551615");
  EXPECT_EQ(CellText(true).view(), "true");
  EXPECT_EQ(CellText(false).view(), "false");
  EXPECT_EQ(CellText(std::string_view("a text")).view(), "a text");
  EXPECT_EQ(CellText(0.1).view(), "0.1");
  EXPECT_EQ(CellText(0.1F).view(), "0.1");
  EXPECT_EQ(CellText(-std::numeric_limits<double>::denorm_min()).view(), "-5e-324");
  EXPECT_EQ(CellText(-std::numeric_limits<double>::max()).view(), "-1.7976931348623157e+308");
}

TEST(IsMissingTest, AnEmptyTextAndNaNAreEmptyCells) {
  EXPECT_TRUE(IsMissing(std::string_view()));
  EXPECT_FALSE(IsMissing(std::string_view(" ")));
  EXPECT_TRUE(IsMissing(std::nan("")));
  EXPECT_TRUE(IsMissing(std::nanf("")));
  EXPECT_FALSE(IsMissing(0.0));
  EXPECT_FALSE(IsMissing(int64_t{0}));
}

TEST(NearestFloatTest, WhatIsNoFiniteFloatIsNoNumber) {
  float value = 0;
  EXPECT_FALSE(NearestFloat(std::numeric_limits<float>::infinity(), value));
  EXPECT_FALSE(NearestFloat(std::numeric_limits<double>::infinity(), value));
  EXPECT_FALSE(NearestFloat(1e39, value));
  EXPECT_FALSE(NearestFloat(-1e300, value));
  EXPECT_FALSE(NearestFloat(std::string_view("1e39"), value));
  EXPECT_FALSE(NearestFloat(std::string_view("one"), value));
  // A double that is nearer to the largest float than to 2^128, and 2^128 itself.
  EXPECT_TRUE(NearestFloat(3.4028235e38, value));
  EXPECT_EQ(value, std::numeric_limits<float>::max());
  EXPECT_FALSE(NearestFloat(0x1p128, value));
  EXPECT_TRUE(NearestFloat(uint64_t{18446744073709551615u}, value));
  EXPECT_EQ(value, 0x1p64F);
  EXPECT_TRUE(NearestFloat(true, value));
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace capstan::parquet
