// One attempt to make a checkpoint after another, with shards whose answers the test gives.
#include "chief/machines/checkpointer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace capstan::chief {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Shards 0 and 1 hold the partitions of a job at step 40.
class CheckpointerTest : public testing::Test {
 protected:
  CheckpointerTest() {
    for (const uint32_t index : {0u, 1u}) view_.add_shards()->set_index(index);
  }

  static Checkpointer::Order OrderOf(const std::string& parent = "") {
    Checkpointer::Order order;
    order.manifest.set_step(40);
    order.parent = parent;
    order.shards = {0, 1};
    return order;
  }
  void Begin(Checkpointer::Order order = OrderOf()) {
    checkpointer_.Begin(std::move(order), now_, calls_);
  }
  // The orders that go out now, by shard.
  std::vector<v1::SavePartitionsRequest> Asked() {
    std::vector<v1::SavePartitionsRequest> asked;
    for (const CallShard& call : calls_.TakeDue(view_, shards_, now_)) {
      asked.push_back(call.request.Get<v1::SavePartitionsRequest>());
    }
    return asked;
  }
  void NotYet(uint32_t shard, uint64_t saved) {
    v1::SavePartitionsReply reply;
    reply.set_partitions_saved(saved);
    checkpointer_.OnSaved(shard, reply, now_, calls_);
  }
  void Done(uint32_t shard, const std::vector<uint32_t>& partitions, bool delta = false) {
    v1::SavePartitionsReply reply;
    reply.set_done(true);
    reply.set_partitions_saved(partitions.size());
    for (const uint32_t partition : partitions) {
      v1::SavedFile& file = *reply.add_files();
      file.set_partition(partition);
      file.set_delta(delta);
    }
    checkpointer_.OnSaved(shard, reply, now_, calls_);
  }
  // The attempt comes to a manifest, of which this is what becomes.
  bool Complete(const absl::Status& written) {
    Begin();
    Done(0, {0});
    Done(1, {1});
    EXPECT_TRUE(checkpointer_.TakeManifest());
    return checkpointer_.OnManifestWritten(written, now_).has_value();
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  v1::View view_;
  ShardTable shards_{/*quorum=*/0, /*most=*/8};
  ShardCalls calls_;
  Checkpointer checkpointer_{{.folder = "file:///d/ctr/checkpoints",
                              .term = 5,
                              .run_id = 0xABC0009,
                              .every = absl::Minutes(5),
                              .patience = absl::Minutes(10)}};
};

TEST_F(CheckpointerTest, EveryShardSavesToAFolderThatIsNamedByStepTermAttemptAndProcess) {
  Checkpointer::Order order = OrderOf("the parent");
  order.leaving = {1};
  Begin(std::move(order));
  const std::vector<v1::SavePartitionsRequest> asked = Asked();
  ASSERT_THAT(asked, SizeIs(2));
  for (const v1::SavePartitionsRequest& one : asked) {
    EXPECT_EQ(one.id(), "000000000040-000500010009");
    EXPECT_EQ(one.uri(), "file:///d/ctr/checkpoints/000000000040-000500010009");
    EXPECT_EQ(one.parent(), "the parent");
  }
  EXPECT_FALSE(asked[0].freeze());
  EXPECT_TRUE(asked[1].freeze()) << "it leaves";
}

TEST_F(CheckpointerTest, TheManifestComesOnceWithAllFilesByPartitionWhenTheLastShardIsDone) {
  Begin();
  Done(1, {3, 1});
  EXPECT_FALSE(checkpointer_.marked());
  EXPECT_FALSE(checkpointer_.TakeManifest());
  EXPECT_THAT(checkpointer_.Unsaved(), ElementsAre(0));
  Done(1, {3, 1});  // A repetition.
  Done(0, {2, 0});
  EXPECT_TRUE(checkpointer_.marked());
  const std::optional<WriteManifest> write = checkpointer_.TakeManifest();
  ASSERT_TRUE(write);
  EXPECT_FALSE(checkpointer_.TakeManifest());
  std::vector<uint32_t> partitions;
  for (const v1::SavedFile& file : write->manifest.files()) partitions.push_back(file.partition());
  EXPECT_THAT(partitions, ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(checkpointer_.AwaitsManifestOf(write->uri));
  EXPECT_FALSE(checkpointer_.AwaitsManifestOf(write->uri + "0"));
}

TEST_F(CheckpointerTest, AParentIsNamedOnlyWhereSomeFileNeedsIt) {
  for (const bool delta : {false, true}) {
    Begin(OrderOf("the parent"));
    Done(0, {0});
    Done(1, {1}, delta);
    EXPECT_EQ(checkpointer_.TakeManifest()->manifest.parent(), delta ? "the parent" : "");
    ASSERT_TRUE(checkpointer_.OnManifestWritten(absl::OkStatus(), now_));
  }
  EXPECT_EQ(checkpointer_.taken(), 2u);
}

TEST_F(CheckpointerTest, AShardThatIsNotDoneIsAskedAgainAfterAPauseThatGrowsToHalfASecond) {
  Begin();
  ASSERT_THAT(Asked(), SizeIs(2));
  NotYet(0, 0);
  EXPECT_THAT(Asked(), IsEmpty());
  now_ += absl::Milliseconds(20);
  EXPECT_THAT(Asked(), SizeIs(1));
  NotYet(0, 0);
  now_ += absl::Milliseconds(24);
  EXPECT_THAT(Asked(), IsEmpty()) << "a quarter longer than the pause before: 25 ms";
  now_ += absl::Milliseconds(1);
  EXPECT_THAT(Asked(), SizeIs(1));
  for (int i = 0; i < 100; ++i) NotYet(0, 0);
  now_ += absl::Milliseconds(499);
  EXPECT_THAT(Asked(), IsEmpty());
  now_ += absl::Milliseconds(1);
  EXPECT_THAT(Asked(), SizeIs(1));
}

TEST_F(CheckpointerTest, AnAttemptIsOverdueOnceNoShardHasSavedMoreForLongerThanThePatience) {
  Begin();
  NotYet(0, 1);
  NotYet(1, 1);
  now_ += absl::Minutes(9);
  NotYet(0, 2);
  now_ += absl::Minutes(10);
  NotYet(0, 2);
  NotYet(1, 1);
  EXPECT_FALSE(checkpointer_.Overdue(now_)) << "the last progress is as old as the patience";
  now_ += absl::Nanoseconds(1);
  EXPECT_TRUE(checkpointer_.Overdue(now_)) << "what is said again is no progress";
}

TEST_F(CheckpointerTest, AfterAFailureTheNextAttemptWaitsForASecondAndEachTimeTwiceAsLong) {
  for (const int seconds : {1, 2, 4, 8, 16, 30, 30}) {
    ASSERT_TRUE(checkpointer_.MayBegin(now_));
    EXPECT_FALSE(Complete(absl::UnavailableError("away")));
    EXPECT_FALSE(checkpointer_.MayBegin(now_ + absl::Seconds(seconds) - absl::Nanoseconds(1)));
    now_ += absl::Seconds(seconds);
  }
  EXPECT_EQ(checkpointer_.failures_in_a_row(), 7);
  EXPECT_EQ(checkpointer_.last_failure().message(), "away");
  EXPECT_TRUE(Complete(absl::OkStatus()));
  EXPECT_EQ(checkpointer_.failures_in_a_row(), 0);
  EXPECT_EQ(checkpointer_.failures(), 7u);
  EXPECT_TRUE(checkpointer_.last_failure().ok());
  EXPECT_FALSE(checkpointer_.Due(now_ + absl::Minutes(5) - absl::Nanoseconds(1)));
  EXPECT_TRUE(checkpointer_.Due(now_ + absl::Minutes(5)));
}

TEST_F(CheckpointerTest, OfAManifestThatMayHaveBeenStoredNothingIsDeletedUnseen) {
  EXPECT_FALSE(Complete(absl::DeadlineExceededError("slow")));
  const std::optional<DeleteCheckpoints> garbage = checkpointer_.TakeGarbage();
  ASSERT_TRUE(garbage);
  EXPECT_THAT(garbage->ids, IsEmpty());
  EXPECT_THAT(garbage->uncertain, ElementsAre("000000000040-000500010009"));
}

TEST_F(CheckpointerTest, WhatWasGivenUpIsDeletedAtOnceAndOnceMoreAfterTheNextAttempt) {
  Begin();
  checkpointer_.Abandon(absl::CancelledError("a shard is lost"), now_, calls_);
  EXPECT_FALSE(checkpointer_.running());
  EXPECT_EQ(checkpointer_.failures(), 0u) << "the attempt itself has not failed";
  EXPECT_TRUE(checkpointer_.MayBegin(now_));
  EXPECT_FALSE(calls_.Pending<v1::SavePartitionsRequest>());
  EXPECT_THAT(checkpointer_.TakeGarbage()->ids, ElementsAre("000000000040-000500010009"));
  EXPECT_FALSE(checkpointer_.TakeGarbage());
  ASSERT_TRUE(Complete(absl::OkStatus()));
  EXPECT_THAT(checkpointer_.TakeGarbage()->ids, ElementsAre("000000000040-000500010009"))
      << "a shard may have gone on writing to it";
  ASSERT_TRUE(Complete(absl::OkStatus()));
  EXPECT_FALSE(checkpointer_.TakeGarbage());
}

TEST_F(CheckpointerTest, AnAttemptWhoseManifestIsBeingWrittenMayStillBecomeACheckpoint) {
  Begin();
  Done(0, {0});
  Done(1, {1});
  const std::string uri = checkpointer_.TakeManifest()->uri;
  checkpointer_.Abandon(absl::InternalError("rolled back"), now_, calls_);
  EXPECT_FALSE(checkpointer_.AwaitsManifestOf(uri));
  EXPECT_FALSE(checkpointer_.TakeGarbage()) << "its files stay";
  EXPECT_EQ(checkpointer_.failures(), 1u);
}

}  // namespace
}  // namespace capstan::chief
