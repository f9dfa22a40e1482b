#include "worker/shell/stall_meter.h"

#include <gtest/gtest.h>

namespace capstan::worker {
namespace {

const absl::Time kNow = absl::UnixEpoch();

TEST(StallMeterTest, CountsFromWhenItSawAReadFirst) {
  StallMeter meter;
  EXPECT_EQ(meter.Look(ReadUnderWay{7, "a"}, kNow).length, absl::ZeroDuration());
  const Stall stall = meter.Look(ReadUnderWay{7, "a"}, kNow + absl::Seconds(40));
  EXPECT_EQ(stall.length, absl::Seconds(40));
  EXPECT_EQ(stall.on, "a");
}

TEST(StallMeterTest, SaysWhatTheStoreAnswersNow) {
  StallMeter meter;
  EXPECT_EQ(meter.Look(ReadUnderWay{7, "a"}, kNow).on, "a");
  const Stall stall = meter.Look(ReadUnderWay{7, "a", "HTTP 403"}, kNow + absl::Seconds(40));
  EXPECT_EQ(stall.on, "a (HTTP 403)");
  EXPECT_EQ(stall.length, absl::Seconds(40)) << "one read, whatever is answered to it";
}

TEST(StallMeterTest, AnotherReadOfTheSameFileIsProgress) {
  StallMeter meter;
  meter.Look(ReadUnderWay{7, "a"}, kNow);
  EXPECT_EQ(meter.Look(ReadUnderWay{8, "a"}, kNow + absl::Seconds(40)).length,
            absl::ZeroDuration());
}

TEST(StallMeterTest, WhoReadsNothingIsNotStalled) {
  StallMeter meter;
  meter.Look(ReadUnderWay{7, "a"}, kNow);
  EXPECT_EQ(meter.Look(std::nullopt, kNow + absl::Seconds(40)).length, absl::ZeroDuration());
  EXPECT_EQ(meter.Look(ReadUnderWay{7, "a"}, kNow + absl::Seconds(50)).length,
            absl::ZeroDuration());
}

}  // namespace
}  // namespace capstan::worker
