#include "chief/shell/log_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

using testing::HasSubstr;

std::string WrittenOf(const LogEvent& event) {
  testing::internal::CaptureStderr();
  WriteLog(event);
  return testing::internal::GetCapturedStderr();
}

// An event with so many fields: f1=v1, f2=v2 ...
LogEvent EventOf(size_t fields) {
  LogEvent event{.message = "something has happened"};
  for (size_t i = 1; i <= fields; ++i) {
    event.fields.emplace_back(absl::StrCat("f", i), absl::StrCat("v", i));
  }
  return event;
}

TEST(LogEventTest, EachFieldIsWrittenInItsPlaceFromNoneToTheMost) {
  std::string expected = "something has happened";
  for (size_t fields = 0; fields <= kMaxLogFields; ++fields) {
    if (fields > 0) absl::StrAppend(&expected, " f", fields, "=v", fields);
    EXPECT_THAT(WrittenOf(EventOf(fields)), HasSubstr(absl::StrCat(expected, "\n")));
  }
}

TEST(LogEventTest, EachLevelIsThatOfTheLine) {
  LogEvent event = EventOf(1);
  EXPECT_THAT(WrittenOf(event), HasSubstr("info"));
  event.level = LogEvent::Level::kWarning;
  EXPECT_THAT(WrittenOf(event), HasSubstr("warning"));
  event.level = LogEvent::Level::kError;
  EXPECT_THAT(WrittenOf(event), HasSubstr("error"));
}

TEST(LogEventTest, MoreFieldsThanTheLogTakesAreAMistakeAndNotLost) {
  EXPECT_DEATH(WriteLog(EventOf(kMaxLogFields + 1)), "kMaxLogFields");
}

}  // namespace
}  // namespace capstan::chief
