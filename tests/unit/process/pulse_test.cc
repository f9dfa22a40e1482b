#include <gtest/gtest.h>

#include "capstan/process/liveness.h"

namespace capstan {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

TEST(PulseTest, AProcessWhoseLoopGoesRoundAndWhosePortAnswersIsWell) {
  Pulse pulse;
  EXPECT_TRUE(pulse.Look(/*last_turn=*/kStart, /*port_answers=*/true, kStart));
  EXPECT_TRUE(pulse.Look(kStart, true, kStart + Pulse::kLongestTurn));
}

TEST(PulseTest, OneWhoseLoopHangsIsNotUntilItGoesRoundAgain) {
  Pulse pulse;
  const absl::Time later = kStart + Pulse::kLongestTurn + absl::Seconds(1);
  EXPECT_FALSE(pulse.Look(/*last_turn=*/kStart, /*port_answers=*/true, later));
  EXPECT_TRUE(pulse.Look(/*last_turn=*/later, /*port_answers=*/true, later));
}

TEST(PulseTest, APortThatIsSilentOnceIsOnlyBusy) {
  Pulse pulse;
  EXPECT_TRUE(pulse.Look(kStart, /*port_answers=*/false, kStart));
  EXPECT_TRUE(pulse.Look(kStart, /*port_answers=*/false, kStart));
  EXPECT_FALSE(pulse.Look(kStart, /*port_answers=*/false, kStart)) << "three times in a row";
  EXPECT_TRUE(pulse.Look(kStart, /*port_answers=*/true, kStart));
}

}  // namespace
}  // namespace capstan
