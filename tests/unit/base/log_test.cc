#include "capstan/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace capstan::log {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// What `write` puts on stderr.
template <typename Write>
std::string Captured(const Options& options, Write write) {
  Init(options);
  testing::internal::CaptureStderr();
  write();
  std::string lines = testing::internal::GetCapturedStderr();
  Init({});
  return lines;
}

TEST(LogTest, WritesATextLineWithTimeLevelIdMessageAndFields) {
  EXPECT_THAT(Captured({.role = "ps", .id = "ps-0"},
                       [] {
                         Info("shard registered", {{"shard", 3}, {"address", "10.0.0.7:70"}});
                       }),
              MatchesRegex("20[0-9-]+T[0-9:]+\\.[0-9]{3}Z info  ps-0 shard registered shard=3 "
                           "address=10.0.0.7:70\n"));
}

TEST(LogTest, WritesAJsonLineWithRoleIdAndJob) {
  SetJob("ctr");
  EXPECT_THAT(
      Captured({.format = Format::kJson, .role = "worker", .id = "w-1"},
               [] {
                 Warn("task returned", {{"task", uint64_t{7}}, {"empty", true}});
               }),
      MatchesRegex("\\{\"ts\":\"20[0-9-]+T[0-9:]+\\.[0-9]{3}Z\",\"level\":\"warning\",\"role\":"
                   "\"worker\",\"id\":\"w-1\",\"job\":\"ctr\",\"msg\":\"task returned\","
                   "\"task\":7,\"empty\":true\\}\n"));
  SetJob("");
}

TEST(LogTest, TextFromOutsideCanForgeNeitherALineNorAField) {
  const std::string evil = "x y=1\n2026 error";
  EXPECT_THAT(Captured({},
                       [&] {
                         Info("pull", {{"table", evil}});
                       }),
              EndsWith("pull table=\"x y=1\\n2026 error\"\n"));
  EXPECT_THAT(Captured({.format = Format::kJson},
                       [&] {
                         Info(evil, {{"table", "a\"b\\"}});
                       }),
              EndsWith("\"msg\":\"x y=1\\n2026 error\",\"table\":\"a\\\"b\\\\\"}\n"));
}

TEST(LogTest, BytesThatAreNotUtf8AreReplacedInJson) {
  EXPECT_THAT(Captured({.format = Format::kJson},
                       [] {
                         Info("k", {{"name", "a\xFF\xC3\xA9"}});
                       }),
              EndsWith("\"name\":\"a\xEF\xBF\xBD\xC3\xA9\"}\n"));
}

TEST(LogTest, ANumberThatJsonDoesNotKnowIsQuoted) {
  EXPECT_THAT(Captured({.format = Format::kJson},
                       [] {
                         Info("loss", {{"nan", std::numeric_limits<double>::quiet_NaN()},
                                       {"half", 0.5},
                                       {"wait", absl::Milliseconds(250)}});
                       }),
              EndsWith("\"nan\":\"nan\",\"half\":0.5,\"wait\":0.25}\n"));
}

TEST(LogTest, LinesBelowTheLevelAreNotWritten) {
  const std::string lines = Captured({.level = Level::kWarn}, [] {
    Info("quiet");
    Error("loud");
  });
  EXPECT_THAT(lines, Not(HasSubstr("quiet")));
  EXPECT_THAT(lines, HasSubstr("loud"));
}

TEST(LogTest, AFormatThatIsNotKnownIsRefused) {
  EXPECT_EQ(*ParseFormat("json"), Format::kJson);
  EXPECT_EQ(*ParseFormat("text"), Format::kText);
  EXPECT_EQ(ParseFormat("xml").status().message(), "log format is \"xml\", expected text or json");
}

TEST(RateLimitTest, LetsOneLineAPeriodPassAndTellsHowManyItHeldBack) {
  FakeClock clock;
  RateLimit limit(clock, absl::Seconds(10));
  const std::string lines = Captured({}, [&] {
    for (int i = 0; i < 4; ++i) limit.Warn("refused", {{"i", i}});
    clock.Advance(absl::Seconds(10));
    limit.Warn("refused", {{"i", 4}});
    clock.Advance(absl::Seconds(10));
    limit.Warn("refused", {{"i", 5}});
  });
  EXPECT_THAT(lines, HasSubstr("refused i=0\n"));
  EXPECT_THAT(lines, Not(HasSubstr("i=1")));
  EXPECT_THAT(lines, HasSubstr("refused i=4 suppressed=3\n"));
  EXPECT_THAT(lines, HasSubstr("refused i=5\n"));
}

}  // namespace
}  // namespace capstan::log
