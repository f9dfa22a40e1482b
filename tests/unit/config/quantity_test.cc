#include "capstan/config/quantity.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(ParseCountTest, ReadsThousandsAndMillions) {
  EXPECT_EQ(ParseCount("0"), 0u);
  EXPECT_EQ(ParseCount("5000"), 5000u);
  EXPECT_EQ(ParseCount("10k"), 10000u);
  EXPECT_EQ(ParseCount("1.1M"), 1100000u);
  EXPECT_EQ(ParseCount("2G"), 2000000000u);
  EXPECT_EQ(ParseCount("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ParseCount("1e+06"), 1000000u);
  EXPECT_EQ(ParseCount("1.25e+06"), 1250000u);
}

TEST(ParseCountTest, RefusesWhatIsNotWhole) {
  for (const char* text :
       {"", "k", "-1", "+1", "1.5", "1.0001k", "1 k", "1e3", "0x10", "1kk", "1.2.3",
        "18446744073709551616", "99999999999G", "nan", "inf", "1_000", "-1e+06", "1.5e+00"}) {
    EXPECT_FALSE(ParseCount(text).has_value()) << text;
  }
}

TEST(ParseByteSizeTest, ReadsBinaryAndDecimalUnits) {
  EXPECT_EQ(ParseByteSize("64"), 64u);
  EXPECT_EQ(ParseByteSize("64B"), 64u);
  EXPECT_EQ(ParseByteSize("64KiB"), 65536u);
  EXPECT_EQ(ParseByteSize("1.5GiB"), 1610612736u);
  EXPECT_EQ(ParseByteSize("64MB"), 64000000u);
  EXPECT_FALSE(ParseByteSize("64Mib").has_value());
  EXPECT_FALSE(ParseByteSize("-1KiB").has_value());
}

TEST(ParseSecondsTest, NeedsAUnitUnlessZero) {
  EXPECT_DOUBLE_EQ(*ParseSeconds("250ms"), 0.25);
  EXPECT_EQ(ParseSeconds("10s"), 10);
  EXPECT_EQ(ParseSeconds("5m"), 300);
  EXPECT_EQ(ParseSeconds("1.5h"), 5400);
  EXPECT_EQ(ParseSeconds("2d"), 172800);
  EXPECT_EQ(ParseSeconds("0"), 0);
  EXPECT_FALSE(ParseSeconds("10").has_value());
  EXPECT_FALSE(ParseSeconds("1 min").has_value());
}

TEST(ParseDecimalTest, ReadsFiniteNumbersOnly) {
  EXPECT_EQ(ParseDecimal("-1.5e-3"), -0.0015);
  for (const char* text : {"", "1.5x", "nan", "inf", "1e999", " 1", "0x1"}) {
    EXPECT_FALSE(ParseDecimal(text).has_value()) << text;
  }
}

TEST(ByteSizeTextTest, IsForPeople) {
  EXPECT_EQ(ByteSizeText(0), "0B");
  EXPECT_EQ(ByteSizeText(1023), "1023B");
  EXPECT_EQ(ByteSizeText(1536), "1.5KiB");
  EXPECT_EQ(ByteSizeText(64 << 20), "64MiB");
  EXPECT_EQ(ByteSizeText(UINT64_MAX), "16EiB");
}

}  // namespace
}  // namespace capstan
