// What the owner of a partition tells its backup of each thing that it does, and who waits for it.
#include "ps/partition/backup_link.h"

#include <gmock/gmock.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "ps/partition/catalog.h"
#include "ps/partition/told_push.h"
#include "tests/unit/ps/shard/parsed.h"

namespace capstan::ps {
namespace {

using ::testing::ElementsAre;

class BackupLinkTest : public testing::Test {
 protected:
  static constexpr PartitionIndex kPartition{4};
  static constexpr PartitionIndex kOther{5};
  static constexpr ViewEpoch kPair{2, 9};

  // What has not been taken.
  v1::ReplicateRequest Sent() const {
    return Parsed<v1::ReplicateRequest>(stream_->Next(Incarnation{7}, 1 << 20));
  }
  // The one operation that has not been taken, which is taken by that.
  v1::Operation TakeOne() {
    const v1::ReplicateRequest request = Sent();
    EXPECT_EQ(request.operations_size(), 1);
    Take(stream_->last());
    return request.operations_size() == 0 ? v1::Operation() : request.operations(0);
  }
  void Take(uint64_t number, std::optional<uint64_t> refused = std::nullopt) {
    v1::ReplicateReply reply;
    reply.set_taken(number);
    if (refused) reply.add_refused(*refused);
    stream_->Taken(reply);
  }

  // A push of these partitions, which carries nothing.
  static std::shared_ptr<const PushMessage> PushTo(std::initializer_list<uint32_t> partitions) {
    v1::JobSpec job;
    job.set_partition_count(10);
    const Catalog catalog = *Catalog::Create(job);
    v1::PushRequest push;
    push.set_examples(3);
    for (const uint32_t partition : partitions) push.add_partitions()->set_partition(partition);
    const grpc::Slice slice(push.SerializeAsString());
    return *PushMessage::Read(grpc::ByteBuffer(&slice, 1), catalog, nullptr);
  }

  int woken_ = 0;
  std::shared_ptr<ReplicaStream> stream_ =
      std::make_shared<ReplicaStream>(ReplicaTarget{"here", Incarnation{5}},
                                      ReplicaStreamName{3, 2}, /*limit=*/50, [this] { ++woken_; });
  BackupLink link_{kPartition, kPair, stream_};
  ReplicaWait wait_;
};

TEST_F(BackupLinkTest, ToNoBackupNothingIsToldAndNobodyWaits) {
  BackupLink none;
  EXPECT_FALSE(none.exists());
  EXPECT_FALSE(none.IsOf(ViewEpoch()));
  EXPECT_FALSE(none.full());
  none.TellPush({}, {}, wait_);
  none.TellPassed(1, wait_);
  none.TellFlush(wait_);
  none.TellClose({6}, 3, wait_);
  none.TellExpired({{{{1}}, {}}});
  none.TellHeld(true);
  none.Release(absl::OkStatus());
  EXPECT_TRUE(wait_.empty());
  EXPECT_EQ(none.told(), 0u);
  EXPECT_TRUE(absl::IsFailedPrecondition(none.HasAll(0).status()));
}

TEST_F(BackupLinkTest, KnowsItsPair) {
  EXPECT_TRUE(link_.exists());
  EXPECT_TRUE(link_.IsOf(kPair));
  EXPECT_FALSE(link_.IsOf({2, 10}));
}

TEST_F(BackupLinkTest, EveryOperationNamesItsPartitionAndItsPair) {
  link_.TellPush({}, {PushTo({4}), 0}, wait_);
  link_.TellPassed(1, wait_);
  link_.TellFlush(wait_);
  link_.TellClose({6}, 3, wait_);
  link_.TellExpired({{{{1}}, {}}});
  link_.TellHeld(true);
  const v1::ReplicateRequest sent = Sent();
  ASSERT_EQ(sent.operations_size(), 6);
  for (const v1::Operation& operation : sent.operations()) {
    EXPECT_EQ(operation.partition(), 4u);
    EXPECT_EQ(operation.pair().term(), 2u);
    EXPECT_EQ(operation.pair().n(), 9u);
  }
}

TEST_F(BackupLinkTest, APushIsToldWithWhatItCarriedAndWhatItCameTo) {
  const PushResult result = {.progress_examples = 100,
                             .dense = v1::OUTCOME_APPLIED,
                             .sparse = v1::OUTCOME_DROPPED,
                             .dense_version = 11,
                             .sparse_version = 12};
  link_.TellPush(result, {PushTo({3, 4}), /*place=*/1}, wait_);
  const v1::ReplicateRequest sent = Sent();
  ASSERT_EQ(sent.pushes_size(), 1);
  v1::PushRequest carried;
  ASSERT_TRUE(carried.ParseFromString(sent.pushes(0)));
  EXPECT_EQ(carried.examples(), 3u);
  ASSERT_EQ(carried.partitions_size(), 1) << "what is for another partition is not sent";
  EXPECT_EQ(carried.partitions(0).partition(), 4u);
  const v1::PushOperation& told = sent.operations(0).push();
  EXPECT_EQ(told.progress_examples(), 100u);
  EXPECT_EQ(told.dense(), v1::OUTCOME_APPLIED);
  EXPECT_EQ(told.sparse(), v1::OUTCOME_DROPPED);
  EXPECT_EQ(told.dense_version(), 11u);
  EXPECT_EQ(told.sparse_version(), 12u);
}

TEST_F(BackupLinkTest, WhatElseIsDoneIsToldAsItIs) {
  link_.TellPassed(8, wait_);
  EXPECT_EQ(TakeOne().passed(), 8u);
  link_.TellFlush(wait_);
  EXPECT_TRUE(TakeOne().has_flush());
  link_.TellClose({6}, 3, wait_);
  const v1::Operation closed = TakeOne();
  EXPECT_EQ(closed.close().stream(), 6u);
  EXPECT_EQ(closed.close().batches(), 3u);
  link_.TellHeld(true);
  EXPECT_TRUE(TakeOne().hold().held());
  link_.TellHeld(false);
  const v1::Operation going_on = TakeOne();
  EXPECT_TRUE(going_on.has_hold());
  EXPECT_FALSE(going_on.hold().held());
}

TEST_F(BackupLinkTest, ForgottenSessionsAreToldByPartAndNothingWhereNoneIsForgotten) {
  link_.TellExpired({});
  EXPECT_TRUE(stream_->idle());
  EXPECT_EQ(woken_, 0);
  link_.TellExpired({{/*dense=*/{{1}}, /*sparse=*/{{2}, {3}}}});
  const v1::Operation operation = TakeOne();
  EXPECT_THAT(operation.expiry().dense_sessions(), ElementsAre(1));
  EXPECT_THAT(operation.expiry().sparse_sessions(), ElementsAre(2, 3));
}

TEST_F(BackupLinkTest, WhoIsToHearOfItWaitsUntilTheBackupHasAllOfIt) {
  link_.TellPush({}, {PushTo({4}), 0}, wait_);
  link_.TellPassed(1, wait_);
  link_.TellFlush(wait_);
  link_.TellClose({6}, 3, wait_);
  EXPECT_EQ(woken_, 0) << "all of a request is sent together";
  std::optional<absl::Status> heard;
  std::move(wait_).Then([&heard](const absl::Status& status) { heard = status; });
  EXPECT_EQ(woken_, 1);
  Take(3);
  EXPECT_FALSE(heard.has_value());
  Take(4);
  EXPECT_EQ(heard, absl::OkStatus());
}

TEST_F(BackupLinkTest, WhatNobodyWaitsForIsSentAtOnce) {
  link_.TellHeld(true);
  EXPECT_EQ(woken_, 1);
  Take(1);
  link_.TellExpired({{{{1}}, {}}});
  EXPECT_EQ(woken_, 2);
}

TEST_F(BackupLinkTest, KnowsWhetherTheBackupHasAllThatItWasToldUpToSomePoint) {
  link_.TellFlush(wait_);
  const uint64_t told = link_.told();
  EXPECT_EQ(told, 1u);
  link_.TellFlush(wait_);
  EXPECT_FALSE(*link_.HasAll(told));
  Take(1);
  EXPECT_TRUE(*link_.HasAll(told));
  EXPECT_FALSE(*link_.HasAll(link_.told()));
  Take(2, /*refused=*/2);
  EXPECT_TRUE(absl::IsDataLoss(link_.HasAll(told).status()));
}

TEST_F(BackupLinkTest, IsFullWhileMoreWaitsForTheBackupsProcessThanItsStreamMayHold) {
  EXPECT_FALSE(link_.full());
  while (stream_->bytes() <= 50) BackupLink(kOther, kPair, stream_).TellFlush(wait_);
  EXPECT_TRUE(link_.full()) << "also where it is of other partitions";
  Take(stream_->last());
  EXPECT_FALSE(link_.full());
}

TEST_F(BackupLinkTest, WhoWaitsForAPairThatEndsIsToldHowAndNothingOfItIsSent) {
  link_.TellFlush(wait_);
  ReplicaWait of_other;
  BackupLink(kOther, kPair, stream_).TellFlush(of_other);
  std::optional<absl::Status> heard, other_heard;
  std::move(wait_).Then([&](const absl::Status& status) { heard = status; });
  std::move(of_other).Then([&](const absl::Status& status) { other_heard = status; });
  link_.Release(absl::UnavailableError("another owner"));
  ASSERT_TRUE(heard.has_value());
  EXPECT_TRUE(absl::IsUnavailable(*heard));
  EXPECT_FALSE(other_heard.has_value());
  const v1::ReplicateRequest sent = Sent();
  EXPECT_EQ(sent.operations(0).what_case(), v1::Operation::WHAT_NOT_SET);
  EXPECT_TRUE(sent.operations(1).has_flush());
}

}  // namespace
}  // namespace capstan::ps
