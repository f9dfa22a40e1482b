#include "chief/shell/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

TEST(RefusedStatusTest, AJobThatIsWrongHasFailedAndAllItsMistakesAreTheReason) {
  const v1::GetStatusReply status = RefusedStatus(
      "ctr", absl::InvalidArgumentError("job.yaml:3: data.fromat: unknown key\njob.yaml:9: x\n"));
  EXPECT_EQ(status.job(), "ctr");
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.failure_kind(), v1::FAILURE_KIND_BAD_INPUT);
  EXPECT_EQ(status.reason(), "job.yaml:3: data.fromat: unknown key; job.yaml:9: x");
}

TEST(RefusedStatusTest, AStoreThatIsAwayOrRefusesTheKeysIsWaitedFor) {
  for (const absl::Status& why :
       {absl::UnavailableError("s3://b: connection refused"),
        absl::PermissionDeniedError("s3://b: HTTP 403 InvalidAccessKeyId")}) {
    EXPECT_TRUE(MayPass(why));
    const v1::GetStatusReply status = RefusedStatus("ctr", why);
    EXPECT_EQ(status.state(), v1::JOB_STATE_PENDING);
    EXPECT_EQ(status.waiting_for(), why.message());
    EXPECT_EQ(status.reason(), "");
  }
  EXPECT_FALSE(MayPass(absl::NotFoundError("train.csv: no such file")));
}

TEST(RefusedStatusTest, AMessageThatQuotesAForeignTextMakesAStatusThatCanBeRead) {
  const v1::GetStatusReply status =
      RefusedStatus("ctr", absl::InvalidArgumentError("/data/caf\xE9: cannot be listed"));
  EXPECT_EQ(status.reason(), "/data/caf\xEF\xBF\xBD: cannot be listed");
  v1::GetStatusReply read;
  EXPECT_TRUE(read.ParseFromString(status.SerializeAsString()));
}

TEST(RefusedStatusTest, AJobThatNobodyLeadsYetHasTheFieldsThatScriptsReadLater) {
  for (const v1::GetStatusReply& status :
       {LookingStatus("ctr"), RefusedStatus("ctr", absl::UnavailableError("away")),
        RefusedStatus("ctr", absl::InvalidArgumentError("job.yaml:3: x"))}) {
    EXPECT_TRUE(status.has_checkpoint()) << status.ShortDebugString();
    EXPECT_TRUE(status.has_tasks()) << status.ShortDebugString();
    EXPECT_EQ(status.eta_seconds(), -1);
  }
}

TEST(LookingStatusTest, SaysHowFarTheFilesHaveBeenLookedAt) {
  const v1::GetStatusReply status = LookingStatus("ctr", /*done=*/31'000, /*files=*/100'000);
  EXPECT_EQ(status.state(), v1::JOB_STATE_PENDING);
  EXPECT_EQ(status.waiting_for(),
            "the chief, which cuts the data into tasks: 31000 of 100000 files");
}

}  // namespace
}  // namespace capstan::chief
