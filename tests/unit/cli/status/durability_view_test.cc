#include "cli/status/durability_view.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace capstan::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Lines(const std::string& text) {
  v1::GetStatusReply status;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &status));
  return DurabilityLines(status, Paint(/*color=*/false));
}

TEST(DurabilityLinesTest, OfAJobThatKeepsNothingThereAreNone) { EXPECT_THAT(Lines(""), IsEmpty()); }

TEST(DurabilityLinesTest, TellTheLastCheckpointAndWhyOneHasFailed) {
  EXPECT_THAT(Lines("checkpoint { uri: '/m/4' step: 1200 age_seconds: 3 bytes: 1572864 delta: true "
                    "running: true failures: 2 last_error: 'disk full' }"),
              ElementsAre("checkpoint step 1,200  3s ago  1.5 MiB  delta  another is being taken",
                          "           2 failed, last: disk full"));
}

TEST(DurabilityLinesTest, TellThatAnOldCheckpointStillHeldAllThereWas) {
  EXPECT_THAT(
      Lines("checkpoint { uri: '/m/4' step: 1200 age_seconds: 90 complete_seconds: 3 bytes: "
            "1572864 }"),
      ElementsAre("checkpoint step 1,200  1m 30s ago  1.5 MiB  held all there was 3s ago"));
}

TEST(DurabilityLinesTest, WhereNoShardIsThereNoCheckpointIsBeingTaken) {
  EXPECT_THAT(Lines("checkpoint { running: true } shards { state: 'lost' }"),
              ElementsAre("checkpoint the first waits for the shards"));
  EXPECT_THAT(Lines("checkpoint { running: true } shards { state: 'lost' } "
                    "shards { state: 'serving' }"),
              ElementsAre("checkpoint the first is being taken"));
}

TEST(DurabilityLinesTest, TellTheCheckpointThatAJobWentOnFrom) {
  EXPECT_THAT(Lines("resumed_from: '/m/demo/checkpoints/976-1'"),
              ElementsAre("went on    from checkpoint 976-1"));
}

TEST(DurabilityLinesTest, TellWhatIsTrainedAgain) {
  EXPECT_THAT(
      Lines("losses { cause: 'shard 1 was started anew' recovery: RECOVERY_ROLLBACK "
            "examples: 40 seconds: 2 tables { table: 'features' updates: 9 rows: 1 } } "
            "losses { cause: 'the job was started again' recovery: RECOVERY_ROLLBACK "
            "examples: 2000 seconds: 1 tables { table: 'features' updates: 700 rows: 3 "
            "hot_rows: 9 hot_rows_held: 12 } }"),
      ElementsAre("recovered  2 times; 2,040 examples trained again",
                  "           last in 1s: the job was started again",
                  "           features: 700 updates of rows, 3 rows, 75 % of the hot rows"));
}

TEST(DurabilityLinesTest, TellWhatIsLostForGoodByShardAndTable) {
  EXPECT_THAT(
      Lines("losses { cause: 'shard 1 was started anew' shard: 1 recovery: RECOVERY_PARTIAL "
            "batches: 1500 tables { table: 'features' updates: 9 rows: 1 hot_rows: 1 "
            "hot_rows_held: 2 } } "
            "losses { cause: 'shard 1 was started anew' shard: 1 recovery: RECOVERY_PARTIAL "
            "batches: 1700 tables { table: 'features' updates: 5 hot_rows_held: 2 } } "
            "waiting_for: 'shard 0'"),
      ElementsAre("recovered  2 times; 0 examples trained again",
                  "           last in 0s: shard 1 was started anew",
                  "lost       ps-1: at most 1,700 gradients, one a batch and partition",
                  "           features: 14 updates of rows, 1 rows, 25 % of the hot rows",
                  "waits for  shard 0"));
}

TEST(DurabilityLinesTest, TellHowManyPartitionsTwoShardsHold) {
  EXPECT_THAT(Lines("replicas { wanted: 1 paired: 6 unpaired: 2 }"),
              ElementsAre("replicas   6 of 8 partitions are on two shards"));
  EXPECT_THAT(Lines("replicas { wanted: 1 paired: 8 promotions: 1 promoted: 3 }"),
              ElementsAre("replicas   8 of 8 partitions are on two shards; 1 shard has been "
                          "replaced by backups (3 partitions)"));
}

TEST(DurabilityLinesTest, TellWhatOfAChangedJobFileIsNotDone) {
  EXPECT_THAT(
      Lines("job_change: 'refused, the job goes on as it was:\\nseed: 1 -> 2\\n'"),
      ElementsAre("job file   refused, the job goes on as it was:", "           seed: 1 -> 2"));
  EXPECT_THAT(Lines("job_change: '1\\n2\\n3\\n4\\n5\\n6\\n7'"),
              ElementsAre("job file   1", "           2", "           3", "           4",
                          "           5", "           and 2 more, in the chief's log"));
}

}  // namespace
}  // namespace capstan::cli
