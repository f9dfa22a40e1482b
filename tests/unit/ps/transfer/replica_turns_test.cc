#include "ps/transfer/replica_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace capstan::ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReplicaTurnsTest : public ::testing::Test {
 protected:
  using Streams = std::vector<std::shared_ptr<ReplicaStream>>;

  static std::shared_ptr<ReplicaStream> StreamTo(const std::string& address, uint64_t number) {
    return std::make_shared<ReplicaStream>(ReplicaTarget{address, Incarnation{5}},
                                           ReplicaStreamName{number, 2}, /*limit=*/1000, [] {});
  }
  // A request is at work, and has done one thing.
  static void Begin(ReplicaStream& stream) {
    v1::Operation operation;
    operation.mutable_flush();
    stream.Append(std::move(operation));
  }
  // A request has done one thing, and waits for the backup.
  static void AppendTo(ReplicaStream& stream) {
    Begin(stream);
    stream.Wake();
  }
  static v1::ReplicateReply TakenUpTo(uint64_t number) {
    v1::ReplicateReply reply;
    reply.set_taken(number);
    return reply;
  }

  ReplicaTurns turns_;
  absl::Time now_ = absl::UnixEpoch();
  std::shared_ptr<ReplicaStream> stream_ = StreamTo("there:1", 1);
};

TEST_F(ReplicaTurnsTest, AStreamWithoutOperationsOrWithoutAProcessToGoToHasNoTurn) {
  const std::shared_ptr<ReplicaStream> unnamed = StreamTo("", 2);
  AppendTo(*unnamed);
  EXPECT_THAT(turns_.Take({stream_, unnamed}, now_), IsEmpty());
  AppendTo(*stream_);
  EXPECT_THAT(turns_.Take({stream_, unnamed}, now_), ElementsAre(stream_));
}

TEST_F(ReplicaTurnsTest, OneRequestIsUnderWayAtATimeAndTheNextFollowsItAtOnce) {
  AppendTo(*stream_);
  EXPECT_THAT(turns_.Take({stream_}, now_), ElementsAre(stream_));
  AppendTo(*stream_);
  EXPECT_THAT(turns_.Take({stream_}, now_), IsEmpty());
  EXPECT_EQ(turns_.Hear(*stream_, TakenUpTo(1), /*in_pieces=*/false, now_).wait,
            absl::ZeroDuration());
  EXPECT_THAT(turns_.Take({stream_}, now_), ElementsAre(stream_));
}

// Otherwise a push of many partitions would be sent in as many pieces as there are answers
// meanwhile.
TEST_F(ReplicaTurnsTest, WhatARequestAtWorkHasDoneGoesWithWhatIsWaitedFor) {
  Begin(*stream_);
  EXPECT_THAT(turns_.Take({stream_}, now_), IsEmpty());
  AppendTo(*stream_);
  ASSERT_THAT(turns_.Take({stream_}, now_), ElementsAre(stream_));
  Begin(*stream_);
  EXPECT_EQ(turns_.Hear(*stream_, TakenUpTo(2), /*in_pieces=*/false, now_).wait,
            absl::ZeroDuration());
  EXPECT_THAT(turns_.Take({stream_}, now_), IsEmpty()) << "nobody waits for it yet";
  stream_->Wake();
  EXPECT_THAT(turns_.Take({stream_}, now_), ElementsAre(stream_));
}

TEST_F(ReplicaTurnsTest, ABackupThatDoesNotAnswerIsLeftAloneLongerEachTimeAndToldOfOnce) {
  AppendTo(*stream_);
  absl::Duration expected = ReplicaTurns::kFirstWait;
  for (int i = 0; i < 10; ++i) {
    ASSERT_THAT(turns_.Take({stream_}, now_), ElementsAre(stream_));
    const auto heard =
        turns_.Hear(*stream_, absl::UnavailableError("away"), /*in_pieces=*/false, now_);
    EXPECT_EQ(heard.tells, i == 0);
    EXPECT_EQ(heard.wait, expected);
    EXPECT_THAT(turns_.Take({stream_}, now_ + heard.wait - absl::Nanoseconds(1)), IsEmpty());
    now_ += heard.wait;
    expected = std::min(2 * expected, ReplicaTurns::kLongestWait);
  }
  ASSERT_THAT(turns_.Take({stream_}, now_), ElementsAre(stream_));
  EXPECT_EQ(turns_.Hear(*stream_, TakenUpTo(1), /*in_pieces=*/false, now_).wait,
            absl::ZeroDuration());
}

TEST_F(ReplicaTurnsTest, ABackupOfAnEarlierReleaseIsToldOfOnceThoughItWasSilentBefore) {
  AppendTo(*stream_);
  const auto fails = [this](const absl::Status& why) {
    EXPECT_THAT(turns_.Take({stream_}, now_), ElementsAre(stream_));
    const auto heard = turns_.Hear(*stream_, why, /*in_pieces=*/true, now_);
    now_ += heard.wait;
    return heard.tells;
  };
  EXPECT_TRUE(fails(absl::UnavailableError("away")));
  EXPECT_TRUE(fails(absl::UnimplementedError("")));
  EXPECT_FALSE(fails(absl::UnimplementedError("")));
  EXPECT_FALSE(fails(absl::UnavailableError("away")));
  EXPECT_FALSE(fails(absl::UnimplementedError("")));
}

TEST_F(ReplicaTurnsTest, ABackupThatTakesNothingIsLeftAloneAndIsNoFailure) {
  AppendTo(*stream_);
  turns_.Take({stream_}, now_);
  const auto heard = turns_.Hear(*stream_, TakenUpTo(0), /*in_pieces=*/false, now_);
  EXPECT_FALSE(heard.tells);
  EXPECT_EQ(heard.wait, ReplicaTurns::kFirstWait);
}

TEST_F(ReplicaTurnsTest, AStreamThatHasEndedIsForgottenAndItsLateAnswerChangesNothing) {
  AppendTo(*stream_);
  turns_.Take({stream_}, now_);
  EXPECT_TRUE(turns_.Knows(1));
  turns_.Take({}, now_);
  EXPECT_FALSE(turns_.Knows(1));
  EXPECT_FALSE(
      turns_.Hear(*stream_, absl::UnavailableError("away"), /*in_pieces=*/false, now_).tells);
}

}  // namespace
}  // namespace capstan::ps
