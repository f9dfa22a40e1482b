#include "capstan/base/failpoint.h"

#include <gtest/gtest.h>

#ifdef CAPSTAN_FAILPOINTS

#include <signal.h>

namespace capstan {
namespace {

using Action = Failpoint::Action;

TEST(FailpointTest, DoesNothingUntilItIsArmed) {
  Failpoint point(Failpoint::Kind::kReturnsStatus, "test.point");
  EXPECT_TRUE(point.Reach().ok());
}

TEST(FailpointTest, ReturnsItsErrorTheNthTimeAlone) {
  Failpoint point(Failpoint::Kind::kReturnsStatus, "test.point");
  point.Arm(Action::kError, /*nth=*/2, /*delay_ms=*/0);
  EXPECT_TRUE(point.Reach().ok());
  EXPECT_EQ(point.Reach(), absl::UnavailableError("failpoint test.point"));
  EXPECT_TRUE(point.Reach().ok());
}

TEST(FailpointDeathTest, KillsTheProcessTheNthTime) {
  Failpoint point(Failpoint::Kind::kReturnsStatus, "test.point");
  point.Arm(Action::kCrash, /*nth=*/2, /*delay_ms=*/0);
  EXPECT_TRUE(point.Reach().ok());
  EXPECT_EXIT((void)point.Reach(), testing::KilledBySignal(SIGKILL),
              "failpoint test.point reached");
}

TEST(FailpointTest, StandsInTheProgramsList) {
  EXPECT_TRUE(CAPSTAN_FAILPOINT_STATUS("test.listed").ok());
  CAPSTAN_FAILPOINT("test.plain");
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // Starts the program anew.
  setenv("CAPSTAN_FAILPOINTS", "test.listed=nonsense", 1);
  EXPECT_EXIT(std::abort(), testing::ExitedWithCode(2),
              "CAPSTAN_FAILPOINTS: test.listed=nonsense: expected crash, error or delay");
  setenv("CAPSTAN_FAILPOINTS", "test.plain=error", 1);
  EXPECT_EXIT(std::abort(), testing::ExitedWithCode(2), "this point returns no status");
  setenv("CAPSTAN_FAILPOINTS", "test.missing=crash", 1);
  EXPECT_EXIT(std::abort(), testing::ExitedWithCode(2), "this program has no such failpoint");
  unsetenv("CAPSTAN_FAILPOINTS");
}

}  // namespace
}  // namespace capstan

#endif  // CAPSTAN_FAILPOINTS
