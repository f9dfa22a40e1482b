// What a chief makes of its job and of the checkpoints that it finds.
#include "chief/job/checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace capstan::chief {
namespace {

// A job that holds nothing out, so that the fingerprint of its held-out records is 0.
class CheckpointsTest : public testing::Test {
 protected:
  CheckpointsTest() { plan_.spec.set_job("ctr"); }

  void SaveTo(const std::string& uri) { plan_.spec.mutable_checkpoint()->set_uri(uri); }
  static CheckpointFacts Measured(const std::string& id, double auc, uint64_t held_out) {
    return {.id = id, .timeline = 1, .step = 5, .metrics = {{"auc", auc}}, .held_out = held_out};
  }
  Checkpoints Begin() const { return Checkpoints({}, plan_, history_); }

  JobPlan plan_;
  JobHistory history_;
};

TEST_F(CheckpointsTest, TheyLieUnderTheNameOfTheJobWhetherOrNotTheUriEndsWithASlash) {
  for (const char* uri : {"s3://ads/all", "s3://ads/all/"}) {
    SaveTo(uri);
    EXPECT_EQ(Begin().checkpointer.UriOf("7"), "s3://ads/all/ctr/checkpoints/7") << uri;
  }
}

TEST_F(CheckpointsTest, WithoutAUriNothingIsEverSaved) {
  plan_.spec.mutable_checkpoint()->set_every_seconds(1);
  Checkpoints checkpoints = Begin();
  EXPECT_FALSE(checkpoints.checkpointer.enabled());
  EXPECT_FALSE(checkpoints.checkpointer.Due(absl::InfiniteFuture()));
}

TEST_F(CheckpointsTest, AnIntervalIsThatOfTheJob) {
  SaveTo("file:///d");
  plan_.spec.mutable_checkpoint()->set_every_seconds(300);
  Checkpoints checkpoints = Begin();
  const absl::Time begin = absl::UnixEpoch();
  checkpoints.checkpointer.StartClock(begin);
  EXPECT_FALSE(checkpoints.checkpointer.Due(begin + absl::Seconds(299)));
  EXPECT_TRUE(checkpoints.checkpointer.Due(begin + absl::Seconds(300)));
}

TEST_F(CheckpointsTest, MetricsOfOtherRecordsMakeNoCheckpointTheBest) {
  history_.checkpoints = {Measured("a", 0.9, /*held_out=*/77), Measured("b", 0.6, 0)};
  const Checkpoints checkpoints = Begin();
  EXPECT_EQ(checkpoints.catalog.all().size(), 2u) << "the job can return to both";
  ASSERT_NE(checkpoints.catalog.best(), nullptr);
  EXPECT_EQ(checkpoints.catalog.best()->id, "b");
}

TEST_F(CheckpointsTest, FoldersWithoutAManifestThatEarlierChiefsHaveLeftAreDeletedOnce) {
  history_.garbage = {"3-a", "4-b"};
  Checkpoints checkpoints = Begin();
  const std::optional<DeleteCheckpoints> garbage = checkpoints.checkpointer.TakeGarbage();
  ASSERT_TRUE(garbage);
  EXPECT_THAT(garbage->ids, testing::ElementsAre("3-a", "4-b"));
  EXPECT_FALSE(checkpoints.checkpointer.TakeGarbage());
}

}  // namespace
}  // namespace capstan::chief
