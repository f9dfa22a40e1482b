#include "cli/status/news.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> NewsOf(const std::string& before, const std::string& now) {
  v1::GetStatusReply first, second;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(before, &first));
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(now, &second));
  return News(first, second);
}

TEST(NewsTest, OfAJobThatOnlyGoesOnThereAreNone) {
  EXPECT_THAT(NewsOf("examples: 10 warnings: 'odd' bad_records: 1",
                     "examples: 20 warnings: 'odd' bad_records: 2"),
              IsEmpty());
}

TEST(NewsTest, TellTheCheckpointThatAJobGoesOnFrom) {
  EXPECT_THAT(NewsOf("", "resumed_from: '/m/demo/checkpoints/976-1'"),
              ElementsAre("goes on from checkpoint /m/demo/checkpoints/976-1"));
}

TEST(NewsTest, TellARecoveryAndWhatItCost) {
  EXPECT_THAT(NewsOf("losses { cause: 'old' }",
                     "losses { cause: 'old' } losses { cause: 'shard 1 was started anew' "
                     "examples: 2040 seconds: 2 checkpoint: '/m/4' }"),
              ElementsAre("recovered in 2s: shard 1 was started anew; 2,040 examples are trained "
                          "again, from checkpoint /m/4"));
  EXPECT_THAT(NewsOf("",
                     "losses { cause: 'shard 1 was started anew' shard: 1 seconds: 2 "
                     "recovery: RECOVERY_PARTIAL batches: 1500 }"),
              ElementsAre("recovered in 2s: shard 1 was started anew; at most 1,500 gradients of "
                          "ps-1 are lost"));
}

TEST(NewsTest, TellThatBackupsHaveTakenOver) {
  EXPECT_THAT(
      NewsOf("replicas { promotions: 1 promoted: 4 }", "replicas { promotions: 2 promoted: 9 }"),
      ElementsAre("a shard is lost, and backups have taken over its 5 partitions; nothing "
                  "is trained again"));
}

TEST(NewsTest, TellAWarningOnce) {
  EXPECT_THAT(NewsOf("warnings: 'a'", "warnings: 'a' warnings: 'b'"), ElementsAre("warning: b"));
}

TEST(NewsTest, TellAWarningOnceHoweverItsNumbersChange) {
  EXPECT_THAT(NewsOf("warnings: 'the loss is 4.34' warning_subjects: 'loss'",
                     "warnings: 'the loss is 1e+12' warning_subjects: 'loss'"),
              IsEmpty());
  EXPECT_THAT(NewsOf("warnings: 'shard 0 is full' warning_subjects: 'memory of shard 0'",
                     "warnings: 'shard 0 is full' warning_subjects: 'memory of shard 0' "
                     "warnings: 'shard 1 is full' warning_subjects: 'memory of shard 1'"),
              ElementsAre("warning: shard 1 is full"));
}

TEST(NewsTest, TellTheFirstBadRecord) {
  EXPECT_THAT(NewsOf("", "bad_records: 1 bad_record_examples: 'a.csv:12: no number'"),
              ElementsAre("1 bad record, the first: a.csv:12: no number"));
}

TEST(NewsTest, TellDroppedAndRefusedGradientsApart) {
  EXPECT_THAT(NewsOf("shards { report { } }",
                     "shards { report { gradients_dropped: 4 } } "
                     "shards { report { gradients_refused: 1 gradients_dropped: 1 } }"),
              ElementsAre("dropped 5 gradients as too stale, refused 1 requests"));
}

}  // namespace
}  // namespace capstan::cli
