// Who is answered once backups have carried out what a call has brought about.
#include "ps/partition/replica_wait.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "tests/unit/ps/partition/told_operations.h"

namespace capstan::ps {
namespace {

// Two streams, to two backups.
class ReplicaWaitTest : public testing::Test {
 protected:
  using Stream = std::shared_ptr<ReplicaStream>;

  static Stream NewStream(int& woken) {
    return std::make_shared<ReplicaStream>(ReplicaTarget{"here", Incarnation{5}},
                                           ReplicaStreamName{3, 2}, /*limit=*/1 << 20,
                                           [&woken] { ++woken; });
  }
  static void Take(ReplicaStream& stream, uint64_t number) {
    v1::ReplicateReply reply;
    reply.set_taken(number);
    stream.Taken(reply);
  }
  // What whoever waits for all of `wait` is told; nothing: it still waits.
  static std::shared_ptr<std::optional<absl::Status>> Await(ReplicaWait wait) {
    auto told = std::make_shared<std::optional<absl::Status>>();
    std::move(wait).Then([told](const absl::Status& status) {
      EXPECT_FALSE(*told) << "it is told twice";
      *told = status;
    });
    return told;
  }

  int first_woken_ = 0;
  int second_woken_ = 0;
  const Stream first_ = NewStream(first_woken_);
  const Stream second_ = NewStream(second_woken_);
};

TEST_F(ReplicaWaitTest, WhoWaitsForNothingIsAnsweredAtOnce) {
  ReplicaWait wait;
  EXPECT_TRUE(wait.empty());
  const auto told = Await(std::move(wait));
  ASSERT_TRUE(*told);
  EXPECT_TRUE((*told)->ok());
}

TEST_F(ReplicaWaitTest, TheAnswerComesWhenEveryBackupHasCarriedOutAllThatConcernsTheCall) {
  ReplicaWait wait;
  wait.Add(first_, kFirst, first_->Append(Flush(kFirst)));
  wait.Add(second_, kSecond, second_->Append(Flush(kSecond)));
  wait.Add(first_, kSecond, first_->Append(Flush(kSecond)));
  first_->Append(Flush(kFirst));  // Of another call.
  const auto told = Await(std::move(wait));
  Take(*first_, 1);
  Take(*second_, 1);
  EXPECT_FALSE(*told);
  Take(*first_, 2);
  ASSERT_TRUE(*told);
  EXPECT_TRUE((*told)->ok());
}

TEST_F(ReplicaWaitTest, StreamsAreWokenWhenTheWaitBeginsAndNotBefore) {
  ReplicaWait wait;
  wait.Add(first_, kFirst, first_->Append(Flush(kFirst)));
  wait.Add(second_, kFirst, second_->Append(Flush(kFirst)));
  EXPECT_EQ(first_woken_, 0) << "more may travel with it";
  (void)Await(std::move(wait));
  EXPECT_EQ(first_woken_, 1);
  EXPECT_EQ(second_woken_, 1);
}

TEST_F(ReplicaWaitTest, WhatNobodyWaitsForIsSentNevertheless) {
  {
    ReplicaWait wait;
    wait.Add(first_, kFirst, first_->Append(Flush(kFirst)));
  }
  EXPECT_EQ(first_woken_, 1);
  ReplicaWait replaced;
  replaced.Add(second_, kFirst, second_->Append(Flush(kFirst)));
  replaced = ReplicaWait();
  EXPECT_EQ(second_woken_, 1);
  EXPECT_TRUE(replaced.empty());
}

TEST_F(ReplicaWaitTest, AnOwnerThatIsOneNoMoreAnswersTheErrorAfterAllOthersHaveAnswered) {
  ReplicaWait wait;
  wait.Add(first_, kFirst, first_->Append(Flush(kFirst)));
  wait.Add(second_, kFirst, second_->Append(Flush(kFirst)));
  const auto told = Await(std::move(wait));
  first_->Release(kFirst, kPair, absl::FailedPreconditionError("another owner"));
  EXPECT_FALSE(*told);
  Take(*second_, 1);
  ASSERT_TRUE(*told);
  EXPECT_EQ((*told)->message(), "another owner");
}

TEST_F(ReplicaWaitTest, ACopyWaitsForTheSameOperations) {
  ReplicaWait wait;
  wait.Add(first_, kFirst, first_->Append(Flush(kFirst)));
  const auto one = Await(wait);
  const auto other = Await(std::move(wait));
  EXPECT_FALSE(*one);
  Take(*first_, 1);
  EXPECT_TRUE(*one);
  EXPECT_TRUE(*other);
}

}  // namespace
}  // namespace capstan::ps
