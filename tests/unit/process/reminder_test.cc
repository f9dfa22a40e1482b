#include "capstan/process/reminder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace capstan {
namespace {

TEST(ReminderTest, WhoWaitsSaysSoLessAndLessOftenAndOnceAMinuteInTheEnd) {
  const absl::Time began = absl::UnixEpoch();
  Reminder reminder(began);
  std::vector<int> said;
  for (int second = 0; second <= 260; ++second) {
    if (reminder.Due(began + absl::Seconds(second))) said.push_back(second);
  }
  EXPECT_THAT(said, testing::ElementsAre(5, 15, 35, 75, 135, 195, 255));
}

}  // namespace
}  // namespace capstan
