// Gradients of streams at one part of one partition: settled once, applied, queued or dropped.
#include "ps/machines/stream_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/ps/machines/testing.h"

namespace capstan::ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StreamPartTest : public testing::Test {
 protected:
  static v1::UpdatePolicy Async(uint32_t aggregate = 1) {
    return Policy(v1::POLICY_KIND_ASYNC, aggregate);
  }
  static StreamGradient Gradient(uint64_t seq, uint64_t pulled_version = 0) {
    return {.name = {kTask, seq, kFirst, /*low_watermark=*/0},
            .pulled_version = pulled_version,
            .handle = GradientHandle{100 + seq}};
  }
  static Decision Send(StreamPart& part, const StreamGradient& gradient, uint64_t& version,
                       bool held_back = false) {
    return part.Push(gradient, held_back, kNow, version);
  }
};

TEST_F(StreamPartTest, AGradientIsAppliedAndCountedOnceHoweverOftenItComes) {
  StreamPart part(Part::kSparse, Async(), 0);
  uint64_t version = 7;
  const Decision first = Send(part, Gradient(0, 7), version);
  EXPECT_EQ(first.outcome, v1::OUTCOME_APPLIED);
  ASSERT_THAT(first.updates, SizeIs(1));
  EXPECT_THAT(Handles(first.updates[0]), ElementsAre(100));
  EXPECT_EQ(first.updates[0].version, 8u);
  const Decision again = Send(part, Gradient(0, 7), version);
  EXPECT_EQ(again.outcome, v1::OUTCOME_SETTLED);
  EXPECT_THAT(Discarded(again), ElementsAre(100));
  EXPECT_EQ(version, 8u);
  EXPECT_EQ(part.batches(), 1u);
}

TEST_F(StreamPartTest, WhatIsRefusedWhileUpdatesAreHeldBackIsTakenLater) {
  StreamPart part(Part::kSparse, Async(), 0);
  uint64_t version = 0;
  const Decision busy = Send(part, Gradient(0), version, /*held_back=*/true);
  EXPECT_EQ(busy.outcome, v1::OUTCOME_BUSY);
  EXPECT_THAT(Discarded(busy), ElementsAre(100));
  EXPECT_EQ(part.batches(), 0u);
  EXPECT_EQ(Send(part, Gradient(0), version).outcome, v1::OUTCOME_APPLIED);
}

TEST_F(StreamPartTest, AQueueAppliesTheMeanOfAsManyAsItGathers) {
  StreamPart part(Part::kSparse, Async(/*aggregate=*/3), 0);
  uint64_t version = 0;
  for (const uint64_t seq : {0, 1}) {
    const Decision queued = Send(part, Gradient(seq), version);
    EXPECT_EQ(queued.outcome, v1::OUTCOME_QUEUED);
    EXPECT_THAT(queued.updates, IsEmpty());
  }
  const Decision third = Send(part, Gradient(2), version);
  EXPECT_EQ(third.outcome, v1::OUTCOME_QUEUED);
  ASSERT_THAT(third.updates, SizeIs(1));
  EXPECT_THAT(Handles(third.updates[0]), ElementsAre(100, 101, 102));
  EXPECT_DOUBLE_EQ(third.updates[0].contributions[0].weight, 1.0 / 3);
  EXPECT_EQ(part.queued(), 0u);
  EXPECT_EQ(version, 1u);
}

TEST_F(StreamPartTest, AQueueThatIsHeldBackTakesTwiceAsManyAndThenNoMore) {
  StreamPart part(Part::kSparse, Async(2), 0);
  uint64_t version = 0;
  for (const uint64_t seq : {0, 1, 2, 3}) {
    EXPECT_EQ(Send(part, Gradient(seq), version, true).outcome, v1::OUTCOME_QUEUED);
  }
  EXPECT_EQ(Send(part, Gradient(4), version, true).outcome, v1::OUTCOME_BUSY);
  EXPECT_EQ(part.queued(), 4u);
  EXPECT_EQ(Send(part, Gradient(0), version, true).outcome, v1::OUTCOME_SETTLED)
      << "it is in the queue";
}

TEST_F(StreamPartTest, ARestThatIsSmallerThanAnUpdateStaysUnlessAllIsWanted) {
  StreamPart part(Part::kSparse, Async(2), /*capacity=*/9);
  uint64_t version = 0;
  for (const uint64_t seq : {0, 1, 2, 3, 4}) (void)Send(part, Gradient(seq), version, true);
  Decision some;
  part.Drain(/*all=*/false, version, some);
  ASSERT_THAT(some.updates, SizeIs(2));
  EXPECT_THAT(Handles(some.updates[1]), ElementsAre(102, 103));
  EXPECT_EQ(part.queued(), 1u);
  Decision rest;
  part.Drain(/*all=*/true, version, rest);
  ASSERT_THAT(rest.updates, SizeIs(1));
  EXPECT_THAT(Handles(rest.updates[0]), ElementsAre(104));
  EXPECT_EQ(rest.updates[0].contributions[0].weight, 1) << "the mean of one";
  EXPECT_EQ(version, 3u);
}

TEST_F(StreamPartTest, TheStalenessOfWhatWaitedIsThatOfWhenItIsApplied) {
  v1::UpdatePolicy policy = Async(2);
  policy.set_stale_gradients(v1::STALE_GRADIENTS_SCALE);
  StreamPart part(Part::kSparse, policy, 9);
  uint64_t version = 10;
  for (uint64_t seq = 0; seq < 6; ++seq) (void)Send(part, Gradient(seq, 10), version, true);
  Decision decision;
  part.Drain(/*all=*/false, version, decision);
  ASSERT_THAT(decision.updates, SizeIs(3));
  const Contribution& first = decision.updates[0].contributions[0];
  EXPECT_EQ(first.staleness, 0u);
  EXPECT_EQ(first.weight, 0.5);
  const Contribution& last = decision.updates[2].contributions[0];
  EXPECT_EQ(last.staleness, 2u);
  EXPECT_EQ(last.weight, 0.25) << "half of the update, for two versions";
  EXPECT_EQ(last.running_weight, 0.25);
}

TEST_F(StreamPartTest, WhatIsDroppedIsSettledAndNoBatch) {
  v1::UpdatePolicy policy = Async();
  policy.set_stale_gradients(v1::STALE_GRADIENTS_DROP);
  policy.set_drop_above(2);
  StreamPart part(Part::kSparse, policy, 0);
  uint64_t version = 5;
  EXPECT_EQ(Send(part, Gradient(0, 2), version).outcome, v1::OUTCOME_DROPPED);
  EXPECT_EQ(Send(part, Gradient(0, 2), version).outcome, v1::OUTCOME_SETTLED);
  EXPECT_EQ(part.batches(), 0u);
  EXPECT_EQ(Send(part, Gradient(1, 3), version).outcome, v1::OUTCOME_APPLIED) << "2 is allowed";
  StreamGradient by_rows = Gradient(2, 0);
  by_rows.judged_by_rows = true;
  EXPECT_EQ(Send(part, by_rows, version).outcome, v1::OUTCOME_APPLIED)
      << "its rows are judged one by one";
}

TEST_F(StreamPartTest, AVersionToComeIsNotStale) {
  StreamPart part(Part::kSparse, Async(), 0);
  uint64_t version = 5;
  const Decision decision = Send(part, Gradient(0, std::numeric_limits<uint64_t>::max()), version);
  EXPECT_EQ(decision.updates[0].contributions[0].staleness, 0u);
}

TEST_F(StreamPartTest, BatchesOfSessionsAndThoseThatAnotherPartitionCountsAreNotCounted) {
  StreamPart part(Part::kSparse, Async(), 0);
  uint64_t version = 0;
  StreamGradient of_session = Gradient(0);
  of_session.name.stream = StreamId::Session(9);
  StreamGradient elsewhere = Gradient(1);
  elsewhere.counted_elsewhere = true;
  for (const StreamGradient& gradient : {of_session, elsewhere}) {
    EXPECT_EQ(Send(part, gradient, version).outcome, v1::OUTCOME_APPLIED);
  }
  EXPECT_EQ(part.batches(), 0u);
}

TEST_F(StreamPartTest, ACheckpointThatDidNotCountBatchesStandsForAsManyAsItsUpdatesMayHaveHad) {
  StreamPart part(Part::kSparse, Async(3), 0);
  part.RestoreBatches(5, /*version=*/7);
  EXPECT_EQ(part.batches(), 5u);
  part.RestoreBatches(std::nullopt, 7);
  EXPECT_EQ(part.batches(), 21u);
  part.RestoreBatches(std::nullopt, std::numeric_limits<uint64_t>::max());
  EXPECT_GT(part.batches(), uint64_t{1} << 59) << "no overflow";
  EXPECT_LE(part.batches(), uint64_t{1} << 60);
}

}  // namespace
}  // namespace capstan::ps
