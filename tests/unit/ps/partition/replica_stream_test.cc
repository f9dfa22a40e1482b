// What an owner tells its backup: in order, until it is taken, and whom that concerns.
#include "ps/partition/replica_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ps/partition/replica_wait.h"
#include "ps/partition/replicate_message.h"
#include "ps/partition/told_push.h"
#include "tests/unit/ps/partition/told_operations.h"
#include "tests/unit/ps/shard/parsed.h"

namespace capstan::ps {
namespace {

constexpr ViewEpoch kNextPair{1, 7};

v1::ReplicateReply Taken(uint64_t number, const std::vector<uint64_t>& refused = {}) {
  v1::ReplicateReply reply;
  reply.set_taken(number);
  for (const uint64_t one : refused) reply.add_refused(one);
  return reply;
}

// A push of so many partitions, which carries nothing.
std::shared_ptr<const PushMessage> PushOf(uint32_t partitions) {
  v1::JobSpec job;
  job.set_partition_count(1000);
  const Catalog catalog = *Catalog::Create(job);
  v1::PushRequest push;
  push.set_examples(partitions);
  for (uint32_t i = 0; i < partitions; ++i) push.add_partitions()->set_partition(i);
  const grpc::Slice slice(push.SerializeAsString());
  return *PushMessage::Read(grpc::ByteBuffer(&slice, 1), catalog, nullptr);
}

ToldPush Told(uint32_t partition, const std::shared_ptr<const PushMessage>& push, size_t place) {
  return {.partition = static_cast<PartitionIndex>(partition),
          .pair = kPair,
          .result = {.dense_version = partition},
          .gradient = {push, place}};
}

class ReplicaStreamTest : public testing::Test {
 protected:
  // What whoever waits for the operation is told; nothing: it still waits.
  std::shared_ptr<std::optional<absl::Status>> Await(PartitionIndex partition, uint64_t number) {
    auto told = std::make_shared<std::optional<absl::Status>>();
    stream_->Await({{partition, number}}, [told](const absl::Status& status) { *told = status; });
    return told;
  }

  int woken_ = 0;
  std::shared_ptr<ReplicaStream> stream_ =
      std::make_shared<ReplicaStream>(ReplicaTarget{"here", Incarnation{5}},
                                      ReplicaStreamName{3, 2}, /*limit=*/3, [this] { ++woken_; });
};

TEST_F(ReplicaStreamTest, WhatIsNotTakenIsSentAgainFromThere) {
  EXPECT_TRUE(stream_->idle());
  EXPECT_EQ(stream_->Append(Flush(kFirst)), 1u);
  EXPECT_EQ(stream_->Append(Flush(kSecond)), 2u);
  v1::ReplicateRequest request = Next(*stream_, 1 << 20);
  EXPECT_EQ(request.source(), 7u);
  EXPECT_EQ(request.stream(), 3u);
  EXPECT_EQ(request.first(), 1u);
  EXPECT_EQ(request.operations_size(), 2);
  EXPECT_EQ(request.header().timeline(), 2u);
  EXPECT_EQ(request.header().target_incarnation(), 5u);
  EXPECT_TRUE(stream_->Taken(Taken(1)));
  EXPECT_FALSE(stream_->Taken(Taken(1))) << "nothing new";
  request = Next(*stream_, 1 << 20);
  EXPECT_EQ(request.first(), 2u);
  EXPECT_EQ(request.operations_size(), 1);
  EXPECT_EQ(Next(*stream_, 0).operations_size(), 1) << "one at the least";
}

TEST_F(ReplicaStreamTest, IsIdleUntilSomebodyAsksForMoreToBeSentThanTheBackupHas) {
  stream_->Wake();
  EXPECT_TRUE(stream_->idle()) << "there is nothing";
  stream_->Append(Flush(kFirst));
  EXPECT_TRUE(stream_->idle()) << "whoever has done it is at work still";
  EXPECT_EQ(Next(*stream_, 1 << 20).operations_size(), 1) << "it goes with what others wait for";
  stream_->Wake();
  EXPECT_FALSE(stream_->idle());
  stream_->Append(Flush(kFirst));
  stream_->Taken(Taken(1));
  EXPECT_TRUE(stream_->idle());
  stream_->Wake();
  EXPECT_FALSE(stream_->idle());
  stream_->Taken(Taken(2));
  EXPECT_TRUE(stream_->idle());
}

TEST_F(ReplicaStreamTest, TheSenderIsNotWokenForMoreWhileItHasSomethingToSend) {
  stream_->Wake();
  EXPECT_EQ(woken_, 0) << "there is nothing to send";
  stream_->Append(Flush(kFirst));
  stream_->Wake();
  EXPECT_EQ(woken_, 1);
  stream_->Append(Flush(kFirst));
  stream_->Wake();
  EXPECT_EQ(woken_, 1) << "it looks again when it has heard of the first one";
  stream_->Taken(Taken(1));
  stream_->Append(Flush(kFirst));
  stream_->Wake();
  EXPECT_EQ(woken_, 1) << "the second one is there still";
  stream_->Taken(Taken(3));
  stream_->Append(Flush(kFirst));
  stream_->Wake();
  EXPECT_EQ(woken_, 2);
}

TEST_F(ReplicaStreamTest, ARequestHasNoMoreOperationsThanItsReceiverAccepts) {
  constexpr int kMore = 3;
  for (int i = 0; i < ReplicateMessage::kMostItems + kMore; ++i) stream_->Append(Flush(kFirst));
  const grpc::ByteBuffer sent = stream_->Next(kSource, /*max_bytes=*/1 << 30);
  EXPECT_TRUE(ReplicateMessage::Read(sent).ok());
  EXPECT_EQ(Parsed<v1::ReplicateRequest>(sent).operations_size(), ReplicateMessage::kMostItems);
  stream_->Taken(Taken(ReplicateMessage::kMostItems));
  EXPECT_EQ(Next(*stream_, 1 << 30).operations_size(), kMore);
}

TEST_F(ReplicaStreamTest, WhoWaitsIsToldOnceTheBackupHasIt) {
  stream_->Append(Flush(kFirst));
  stream_->Append(Flush(kFirst));
  const auto first = Await(kFirst, 1), second = Await(kFirst, 2);
  stream_->Taken(Taken(1));
  EXPECT_EQ(*first, absl::OkStatus());
  EXPECT_FALSE(second->has_value());
  stream_->Taken(Taken(2));
  EXPECT_EQ(*second, absl::OkStatus());
  EXPECT_EQ(*Await(kFirst, 2), absl::OkStatus()) << "also who asks later";
}

TEST_F(ReplicaStreamTest, WhatIsRefusedIsAnsweredByAViewAlone) {
  stream_->Append(Flush(kFirst));
  const auto before = Await(kFirst, 1);
  stream_->Taken(Taken(1, {1}));
  const auto after = Await(kFirst, 1);
  EXPECT_FALSE(before->has_value());
  EXPECT_FALSE(after->has_value());
  stream_->Release(kFirst, kPair, absl::UnavailableError("another owner"));
  EXPECT_TRUE(absl::IsUnavailable(**before));
  EXPECT_TRUE(absl::IsUnavailable(**after));
  EXPECT_TRUE(absl::IsUnavailable(**Await(kFirst, 1))) << "whoever asks later";
}

TEST_F(ReplicaStreamTest, KnowsWhetherTheBackupHasAllThatAPartitionWasToldUpToSomePoint) {
  EXPECT_EQ(stream_->last(), 0u);
  (void)stream_->Append(Flush(kFirst));
  (void)stream_->Append(Flush(kSecond));
  const uint64_t told = stream_->last();
  (void)stream_->Append(Flush(kSecond));
  EXPECT_FALSE(*stream_->HasAll(kFirst, told));
  (void)stream_->Taken(Taken(1));
  EXPECT_FALSE(*stream_->HasAll(kFirst, told));
  (void)stream_->Taken(Taken(2, /*refused=*/{2}));
  EXPECT_TRUE(*stream_->HasAll(kFirst, told)) << "what is told later does not matter";
  EXPECT_TRUE(absl::IsDataLoss(stream_->HasAll(kSecond, told).status()));
}

TEST_F(ReplicaStreamTest, OfAPairThatHasEndedNothingIsSentAndTheOthersGoOn) {
  stream_->Append(Flush(kFirst));
  stream_->Append(Flush(kSecond));
  const auto first = Await(kFirst, 1), second = Await(kSecond, 2);
  stream_->Release(kFirst, kPair, absl::OkStatus());
  EXPECT_EQ(*first, absl::OkStatus());
  EXPECT_FALSE(second->has_value());
  const v1::ReplicateRequest request = Next(*stream_, 1 << 20);
  ASSERT_EQ(request.operations_size(), 2) << "without a gap";
  EXPECT_EQ(request.operations(0).what_case(), v1::Operation::WHAT_NOT_SET);
  EXPECT_TRUE(request.operations(1).has_flush());
  stream_->Append(Flush(kFirst));  // Of its next pair.
  EXPECT_FALSE(Await(kFirst, 3)->has_value());
}

TEST_F(ReplicaStreamTest, AStreamIsFullAboveItsLimitUntilTheBackupHasTakenSomething) {
  stream_->Append(Flush(kFirst));
  EXPECT_TRUE(stream_->full());
  EXPECT_GT(stream_->bytes(), 3u);
  stream_->Taken(Taken(1));
  EXPECT_FALSE(stream_->full());
  EXPECT_EQ(stream_->bytes(), 0u);
}

TEST_F(ReplicaStreamTest, OperationsOfOnePushShareWhatIsSentOfIt) {
  const std::shared_ptr<const PushMessage> one = PushOf(4), other = PushOf(2);
  stream_->Append(Told(3, one, 3));
  stream_->Append(Told(1, other, 1));
  stream_->Append(Flush(kFirst));
  stream_->Append(Told(0, one, 0));
  const v1::ReplicateRequest request = Next(*stream_, 1 << 20);
  ASSERT_EQ(request.pushes_size(), 2);
  for (const int i : {0, 1, 3}) {
    const v1::Operation& operation = request.operations(i);
    v1::PushRequest sent;
    ASSERT_TRUE(sent.ParseFromString(request.pushes(static_cast<int>(operation.push().push()))));
    EXPECT_EQ(sent.partitions(static_cast<int>(operation.push().place())).partition(),
              operation.partition());
    EXPECT_EQ(operation.push().dense_version(), operation.partition());
    EXPECT_EQ(sent.partitions_size(), i == 1 ? 1 : 2) << "only what is backed up there";
    EXPECT_EQ(sent.examples(), i == 1 ? 2u : 4u);
  }
}

TEST_F(ReplicaStreamTest, WhatAPushKeepsInMemoryCountsUntilItIsTaken) {
  const std::shared_ptr<const PushMessage> one = PushOf(1000), other = PushOf(500);
  for (const size_t place : {0, 1, 2}) {
    stream_->Append(Told(0, one, place));
    stream_->Append(Told(1, other, place));
  }
  EXPECT_EQ(stream_->bytes(), one->size() + other->size()) << "each is kept once";
  EXPECT_EQ(Next(*stream_, other->size()).operations_size(), 6) << "little is sent";
  stream_->Taken(Taken(3));
  EXPECT_EQ(stream_->bytes(), one->size() + other->size());
  stream_->Taken(Taken(5));
  EXPECT_EQ(stream_->bytes(), other->size());
  stream_->Taken(Taken(6));
  EXPECT_EQ(stream_->bytes(), 0u);
}

TEST_F(ReplicaStreamTest, TheNextPairOfAPartitionGoesOnWhereTheOneBeforeEndsLater) {
  stream_->Append(Flush(kFirst));
  stream_->Append(Flush(kFirst, kNextPair));
  const auto before = Await(kFirst, 1), next = Await(kFirst, 2);
  stream_->Release(kFirst, kPair, absl::UnavailableError("another pair"));
  EXPECT_TRUE(absl::IsUnavailable(**before));
  EXPECT_FALSE(next->has_value());
  const v1::ReplicateRequest request = Next(*stream_, 1 << 20);
  EXPECT_EQ(request.operations(0).what_case(), v1::Operation::WHAT_NOT_SET);
  EXPECT_TRUE(request.operations(1).has_flush());
  stream_->Taken(Taken(2));
  EXPECT_EQ(*next, absl::OkStatus());
}

TEST_F(ReplicaStreamTest, APairThatHasEndedKeepsNothingInMemory) {
  const std::shared_ptr<const PushMessage> push = PushOf(8);
  stream_->Append(Told(1, push, 1));
  stream_->Release(PartitionIndex{1}, kNextPair, absl::OkStatus());
  EXPECT_GT(stream_->bytes(), 0u) << "it is of another pair";
  stream_->Release(PartitionIndex{1}, kPair, absl::OkStatus());
  EXPECT_EQ(stream_->bytes(), 0u);
  EXPECT_EQ(Next(*stream_, 1 << 20).pushes_size(), 0);
  stream_->Taken(Taken(1));
  EXPECT_EQ(stream_->bytes(), 0u);
}

TEST_F(ReplicaStreamTest, AllThatOneRequestHasDoneIsSentTogether) {
  ReplicaWait wait;
  wait.Add(stream_, kFirst, stream_->Append(Flush(kFirst)));
  wait.Add(stream_, kSecond, stream_->Append(Flush(kSecond)));
  EXPECT_EQ(woken_, 0);
  std::move(wait).Then([](const absl::Status&) {});
  EXPECT_EQ(woken_, 1);
  { ReplicaWait nobody; }
  stream_->Taken(Taken(2));
  EXPECT_EQ(woken_, 1);
  {
    ReplicaWait nobody;
    nobody.Add(stream_, kFirst, stream_->Append(Flush(kFirst)));
  }
  EXPECT_EQ(woken_, 2) << "also what nobody waits for";
  stream_->Taken(Taken(3));
  ReplicaWait overwritten;
  overwritten.Add(stream_, kFirst, stream_->Append(Flush(kFirst)));
  overwritten = {};
  EXPECT_EQ(woken_, 3) << "nor when it is assigned over";
}

TEST_F(ReplicaStreamTest, WhoWaitsForSeveralIsToldOnceByTheLast) {
  auto other = std::make_shared<ReplicaStream>(ReplicaTarget{"there", Incarnation{6}},
                                               ReplicaStreamName{4, 2}, /*limit=*/3, [] {});
  ReplicaWait wait;
  EXPECT_TRUE(wait.empty());
  wait.Add(stream_, kFirst, stream_->Append(Flush(kFirst)));
  wait.Add(other, kSecond, other->Append(Flush(kSecond)));
  int told = 0;
  absl::Status status;
  std::move(wait).Then([&](const absl::Status& end) {
    ++told;
    status = end;
  });
  stream_->Taken(Taken(1));
  EXPECT_EQ(told, 0);
  other->Release(kSecond, kPair, absl::UnavailableError("another owner"));
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(absl::IsUnavailable(status));
}

TEST_F(ReplicaStreamTest, WhoWaitsForOperationsOfSeveralPairsIsToldIfOneOfThemHasEnded) {
  stream_->Append(Flush(kFirst));
  stream_->Append(Flush(kSecond));
  stream_->Append(Flush(kSecond));
  std::optional<absl::Status> told;
  stream_->Await({{kFirst, 1}, {kSecond, 2}, {kSecond, 3}},
                 [&told](const absl::Status& status) { told = status; });
  stream_->Taken(Taken(2, /*refused=*/{2}));
  stream_->Release(kFirst, kPair, absl::UnavailableError("its backup has it"));
  EXPECT_FALSE(told.has_value());
  stream_->Release(kSecond, kPair, absl::UnavailableError("another owner"));
  EXPECT_EQ(*told, absl::UnavailableError("another owner"));
}

// Most who wait are looked at as a whole, by their first and last operation: not so where something
// has been refused, or has been settled before they ask.
TEST_F(ReplicaStreamTest, WhoWaitsForSeveralIsToldOnceAllOfThemAreTakenAndNoneIsRefused) {
  for (int i = 0; i < 5; ++i) stream_->Append(Flush(i < 3 ? kFirst : kSecond));
  int told = 0;
  const auto await = [&](std::vector<ReplicaStream::Awaited> operations) {
    stream_->Await(std::move(operations), [&told](const absl::Status& status) {
      EXPECT_EQ(status, absl::OkStatus());
      ++told;
    });
  };
  await({{kFirst, 3}, {kFirst, 1}});
  EXPECT_TRUE(stream_->Taken(Taken(2)));
  EXPECT_EQ(told, 0);
  await({{kFirst, 1}, {kFirst, 2}});
  EXPECT_EQ(told, 1) << "it asks when both are taken";
  await({{kFirst, 2}, {kFirst, 3}});
  EXPECT_EQ(told, 1) << "it asks when one of both is taken";
  EXPECT_TRUE(stream_->Taken(Taken(4, /*refused=*/{4})));
  EXPECT_EQ(told, 3);
  await({{kFirst, 3}, {kSecond, 4}});
  await({{kSecond, 5}});
  EXPECT_TRUE(stream_->Taken(Taken(5)));
  EXPECT_EQ(told, 4) << "what was refused before does not matter to the last one";
  stream_->Release(kSecond, kPair, absl::OkStatus());
  EXPECT_EQ(told, 5);
  await({});
  EXPECT_EQ(told, 6) << "there is nothing to wait for";
}

TEST_F(ReplicaStreamTest, WhoAsksForWhatAPairHasLeftBehindIsToldHowItEnded) {
  for (int i = 0; i < 2; ++i) stream_->Append(Flush(kFirst));
  stream_->Append(Flush(kSecond));
  stream_->Release(kFirst, kPair, absl::UnavailableError("another owner"));
  EXPECT_TRUE(absl::IsUnavailable(**Await(kFirst, 2))) << "nothing of it has been taken";
  EXPECT_FALSE(Await(kSecond, 3)->has_value());
  stream_->Append(Flush(kFirst, kNextPair));
  EXPECT_FALSE(Await(kFirst, 4)->has_value());
}

TEST_F(ReplicaStreamTest, WhoWaitsIsToldThatTheShardEnds) {
  stream_->Append(Flush(kFirst));
  const auto told = Await(kFirst, 1);
  stream_->Close();
  EXPECT_TRUE(absl::IsUnavailable(**told));
  EXPECT_TRUE(absl::IsUnavailable(**Await(kFirst, 1)));
}

}  // namespace
}  // namespace capstan::ps
