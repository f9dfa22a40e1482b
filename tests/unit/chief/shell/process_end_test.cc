#include "chief/shell/process_end.h"

#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

constexpr absl::Time kJobEnd = absl::UnixEpoch();

TEST(ProcessEndTest, AsLongAsTheJobGoesOnSoDoesTheProcess) {
  ProcessEnd end;
  EXPECT_FALSE(end.IsDue(/*ended=*/false, /*stored=*/true, absl::UnixEpoch()));
  EXPECT_FALSE(end.IsDue(/*ended=*/false, /*stored=*/true, absl::UnixEpoch() + absl::Hours(9)));
}

TEST(ProcessEndTest, WatchersHaveAMomentToSeeTheEnd) {
  ProcessEnd end;
  EXPECT_FALSE(end.IsDue(/*ended=*/true, /*stored=*/true, kJobEnd));
  EXPECT_FALSE(end.IsDue(true, true, kJobEnd + ProcessEnd::kLinger - absl::Milliseconds(1)));
  EXPECT_TRUE(end.IsDue(true, true, kJobEnd + ProcessEnd::kLinger));
}

TEST(ProcessEndTest, AnEndThatCannotBeStoredIsWaitedForNoLongerThanTheLastWriteMayTake) {
  ProcessEnd end;
  EXPECT_FALSE(end.IsDue(/*ended=*/true, /*stored=*/false, kJobEnd));
  EXPECT_FALSE(end.IsDue(true, false, kJobEnd + ProcessEnd::kLastWrite - absl::Milliseconds(1)));
  EXPECT_TRUE(end.IsDue(true, false, kJobEnd + ProcessEnd::kLastWrite));
}

TEST(ProcessEndTest, AnEndThatIsStoredLateHasNotToLingerAnew) {
  ProcessEnd end;
  EXPECT_FALSE(end.IsDue(/*ended=*/true, /*stored=*/false, kJobEnd));
  EXPECT_TRUE(end.IsDue(/*ended=*/true, /*stored=*/true, kJobEnd + absl::Seconds(5)));
}

TEST(ExitCodeOfJobTest, SaysWhetherTheJobHasFailedAndWhetherItsInputIsToBlame) {
  v1::GetStatusReply status;
  EXPECT_EQ(ExitCodeOfJob(status), 0);
  status.set_state(v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(ExitCodeOfJob(status), 0);
  status.set_state(v1::JOB_STATE_RUNNING);
  status.set_failure_kind(v1::FAILURE_KIND_BAD_INPUT);
  EXPECT_EQ(ExitCodeOfJob(status), 0) << "it has not failed";
  status.set_state(v1::JOB_STATE_FAILED);
  EXPECT_EQ(ExitCodeOfJob(status), 2);
  status.clear_failure_kind();
  EXPECT_EQ(ExitCodeOfJob(status), 1);
}

}  // namespace
}  // namespace capstan::chief
