#include "cli/terminal/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(GroupedTest, PutsACommaBetweenThousands) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1'000), "1,000");
  EXPECT_EQ(Grouped(12'345'678), "12,345,678");
}

TEST(ShortTest, KeepsThreeDigitsAndNamesTheUnit) {
  EXPECT_EQ(Short(0), "0");
  EXPECT_EQ(Short(7), "7");
  EXPECT_EQ(Short(12.34), "12.3");
  EXPECT_EQ(Short(999.6), "1.00 k");
  EXPECT_EQ(Short(14'920), "14.9 k");
  EXPECT_EQ(Short(1.5e6), "1.50 M");
  EXPECT_EQ(Short(-1500), "-1.50 k");
}

TEST(ShortTest, ShowsWhatIsNoNumberAsADash) {
  EXPECT_EQ(Short(std::nan("")), "-");
  EXPECT_EQ(Short(std::numeric_limits<double>::infinity()), "-");
}

TEST(DecimalsTest, KeepsTheDigitsOfWhatIsSmall) {
  EXPECT_EQ(Decimals(0.78954, 4), "0.7895");
  EXPECT_EQ(Decimals(1234.5, 4), "1234.5000");
  EXPECT_EQ(Decimals(0, 4), "0.0000");
  EXPECT_EQ(Decimals(0.001, 4), "0.0010");
  EXPECT_EQ(Decimals(0.00012345, 4), "0.0001234");
  EXPECT_EQ(Decimals(-1.2346e-7, 4), "-1.235e-07");
  EXPECT_EQ(Decimals(1.23456e-7, 5), "1.2346e-07");
}

TEST(BytesTest, CountsInPowersOf1024) {
  EXPECT_EQ(Bytes(1023), "1023 B");
  EXPECT_EQ(Bytes(64 << 20), "64.0 MiB");
  EXPECT_EQ(Bytes(1536), "1.50 KiB");
}

TEST(ShortDurationTest, ShowsTheTwoLargestUnits) {
  EXPECT_EQ(ShortDuration(absl::Seconds(42)), "42s");
  EXPECT_EQ(ShortDuration(absl::Seconds(67)), "1m 07s");
  EXPECT_EQ(ShortDuration(absl::Hours(3) + absl::Minutes(5)), "3h 05m");
  EXPECT_EQ(ShortDuration(absl::Hours(52)), "2d 04h");
}

TEST(ShortDurationTest, ShowsWhatIsNotKnownAsADash) {
  EXPECT_EQ(ShortDuration(absl::Seconds(-1)), "-");
  EXPECT_EQ(ShortDuration(absl::InfiniteDuration()), "-");
}

TEST(StepTimeTest, ChoosesTheUnit) {
  EXPECT_EQ(StepTime(0.00085), "850 us");
  EXPECT_EQ(StepTime(0.0123), "12.3 ms");
  EXPECT_EQ(StepTime(2.1), "2.10 s");
  EXPECT_EQ(StepTime(0), "-");
}

TEST(BarTest, FillsEighthsOfACell) {
  EXPECT_EQ(Bar(0, 4, /*unicode=*/true), "░░░░");
  EXPECT_EQ(Bar(0.5, 4, /*unicode=*/true), "██░░");
  EXPECT_EQ(Bar(0.625, 4, /*unicode=*/true), "██▌░");
  EXPECT_EQ(Bar(1, 4, /*unicode=*/true), "████");
}

TEST(BarTest, DoesWithoutUnicode) { EXPECT_EQ(Bar(0.5, 8, /*unicode=*/false), "####...."); }

TEST(BarTest, CutsToTheRange) {
  EXPECT_EQ(Bar(7, 2, /*unicode=*/false), "##");
  EXPECT_EQ(Bar(-1, 2, /*unicode=*/false), "..");
  EXPECT_EQ(Bar(std::nan(""), 2, /*unicode=*/false), "..");
}

TEST(SparklineTest, GoesFromTheSmallestToTheLargest) {
  EXPECT_EQ(Sparkline({1, 2, 3, 4, 5, 6, 7, 8}, 8, /*unicode=*/true), "▁▂▃▄▅▆▇█");
}

TEST(SparklineTest, SqueezesManyValuesIntoTheirMeans) {
  EXPECT_EQ(Sparkline({0, 2, 8, 10}, 2, /*unicode=*/true), "▁█");
}

TEST(SparklineTest, LeavesOutWhatIsNotFinite) {
  EXPECT_EQ(Sparkline({1, std::nan(""), 8}, 8, /*unicode=*/true), "▁█");
  EXPECT_EQ(Sparkline({}, 8, /*unicode=*/true), "");
}

TEST(PrintableTest, DisarmsControlCharacters) {
  EXPECT_EQ(Printable("worker\x1b[2J\n\x7f"), "worker?[2J ?");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "2J"),
            "?2J");
}

TEST(PrintableTest, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(Printable("Zürich"), "Zürich");
  EXPECT_EQ(Printable("\xFFz\xC3"), "?z?");
  EXPECT_EQ(Printable("\xE0\x82\x9B"
                      "2J"),
            "???2J")
      << "a control character that is written longer than it may be";
  EXPECT_EQ(Printable("\xED\xA0\x80"), "???") << "half of a character of UTF-16";
}

TEST(CellsTest, CountsCharactersWithoutEscapeSequences) {
  EXPECT_EQ(Cells("\x1b[1mZürich\x1b[0m █"), 8u);
}

TEST(ClipTest, CutsBetweenCharacters) {
  EXPECT_EQ(Clip("Zürich", 2), "Zü");
  EXPECT_EQ(Clip("Zürich", 6), "Zürich");
}

TEST(ClipTest, EndsTheColour) { EXPECT_EQ(Clip("\x1b[1mabc", 2), "\x1b[1mab\x1b[0m"); }

TEST(WrappedTest, BreaksBetweenWords) {
  EXPECT_THAT(Wrapped("the loss is high", 8), ElementsAre("the loss", "is high"));
  EXPECT_THAT(Wrapped("unbreakable", 4), ElementsAre("unbreakable"));
  EXPECT_THAT(Wrapped("", 4), IsEmpty());
}

TEST(ShellWordTest, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(ShellWord("train.epochs=3"), "train.epochs=3");
  EXPECT_EQ(ShellWord("data.train=my file*.csv"), "'data.train=my file*.csv'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord(""), "''");
}

}  // namespace
}  // namespace capstan::cli
