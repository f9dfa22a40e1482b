#include "chief/work/shortened_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace capstan::chief {
namespace {

using testing::EndsWith;
using testing::SizeIs;
using testing::StartsWith;

TEST(ShortenedReportTest, AReportOfUsualLengthStaysAsItIs) {
  v1::LeaseReport report;
  report.set_error(std::string(4096, 'e'));
  for (int i = 0; i < 10; ++i) report.add_bad_record_examples(std::string(1024, 'b'));
  report.mutable_user_code()->set_traceback(std::string(4096, 't'));
  EXPECT_EQ(Shortened(report), std::nullopt);
}

TEST(ShortenedReportTest, LongTextsEndWithDotsAndOfATracebackTheEndStays) {
  v1::LeaseReport report;
  report.set_error(std::string(5000, 'e'));
  report.mutable_user_code()->set_place(std::string(5000, 'p'));
  report.mutable_user_code()->set_traceback(std::string(5000, 't') + "ValueError");
  const auto cut = Shortened(report);
  ASSERT_TRUE(cut);
  EXPECT_THAT(cut->error(), AllOf(SizeIs(4096), EndsWith("e...")));
  EXPECT_THAT(cut->user_code().place(), AllOf(SizeIs(1024), EndsWith("p...")));
  EXPECT_THAT(cut->user_code().traceback(),
              AllOf(SizeIs(4096), StartsWith("...t"), EndsWith("ValueError")));
}

TEST(ShortenedReportTest, OfEachTaskTheFirstExamplesStay) {
  v1::LeaseReport report;
  v1::LaneTaskDone& done = *report.add_lane_tasks_done();
  for (int i = 0; i < 11; ++i) done.add_bad_record_examples(std::to_string(i));
  const auto cut = Shortened(report);
  ASSERT_TRUE(cut);
  EXPECT_THAT(cut->lane_tasks_done(0).bad_record_examples(), SizeIs(10));
  EXPECT_EQ(cut->lane_tasks_done(0).bad_record_examples(9), "9");
}

// A text of protobuf is UTF-8, and what is cut is sent on.
TEST(ShortenedReportTest, NoCharacterIsCutInTwo) {
  v1::LeaseReport report;
  for (int i = 0; i < 3000; ++i) report.mutable_error()->append("\xc3\xa4");
  report.mutable_error()->insert(0, "x");
  *report.mutable_user_code()->mutable_traceback() = report.error();
  const auto cut = Shortened(report);
  ASSERT_TRUE(cut);
  EXPECT_THAT(cut->error(), AllOf(SizeIs(4096), EndsWith("\xc3\xa4...")));
  EXPECT_THAT(cut->user_code().traceback(), StartsWith("...\xc3\xa4"));
}

}  // namespace
}  // namespace capstan::chief
