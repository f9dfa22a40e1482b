// The streams of a process to its backups: one to each, and all of them hear of rounds and clocks.
#include "ps/shard/replica_streams.h"

#include <gtest/gtest.h>

#include "tests/unit/ps/partition/told_operations.h"

namespace capstan::ps {
namespace {

TEST(ReplicaStreamsTest, ThereIsOneForEachProcessAndTimelineAndLaterOnesHaveHigherNumbers) {
  ReplicaStreams streams;
  const ReplicaTarget target = {"here", Incarnation{5}};
  const auto first = streams.To(target, 1, ClosedLog());
  EXPECT_EQ(streams.To(target, 1, ClosedLog()), first);
  const auto second = streams.To(target, 2, ClosedLog());
  EXPECT_NE(second, first);
  EXPECT_GT(second->name().number, first->name().number);
  streams.KeepOnly({});
  EXPECT_TRUE(streams.All().empty());
  EXPECT_GT(streams.To(target, 2, ClosedLog())->name().number, second->name().number);
}

TEST(ReplicaStreamsTest, WhatIsNotTakenIsToldOfAllAndOfTheOneThatHasMost) {
  ReplicaStreams streams;
  EXPECT_EQ(streams.most_bytes(), 0u);
  const auto one = streams.To({"here", Incarnation{5}}, 1, ClosedLog());
  const auto two = streams.To({"there", Incarnation{6}}, 1, ClosedLog());
  one->Append(Flush(kFirst));
  two->Append(Flush(kFirst));
  two->Append(Flush(kSecond));
  EXPECT_EQ(streams.most_bytes(), two->bytes());
  EXPECT_EQ(streams.bytes(), one->bytes() + two->bytes());
  EXPECT_GT(two->bytes(), one->bytes());
}

TEST(ReplicaStreamsTest, EveryBackupIsToldOfEveryRound) {
  ReplicaStreams streams;
  int woken = 0;
  streams.SetWake([&woken] { ++woken; });
  const auto stream = streams.To({"here", Incarnation{5}}, 1, ClosedLog());
  streams.TellClosed({9, {}});
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(Next(*stream, 100).operations(0).closed().round(), 9u);
  EXPECT_GT(streams.bytes(), 0u);
  streams.TellFinished(TrainerId{4}, 17);
  EXPECT_EQ(Next(*stream, 100).operations(1).clock().clock(), 17u);
}

TEST(ReplicaStreamsTest, AStreamThatBeginsTellsFirstOfTheRoundsThatAreKept) {
  ReplicaStreams streams;
  ClosedLog kept(/*passed=*/6);
  for (const uint64_t round : {7, 8}) kept.Learn({round, {}});
  const auto stream = streams.To({"here", Incarnation{5}}, 1, kept);
  streams.TellClosed({9, {}});
  (void)streams.To({"here", Incarnation{5}}, 1, kept);
  const v1::ReplicateRequest request = Next(*stream, 100);
  ASSERT_EQ(request.operations_size(), 3) << "once";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(request.operations(i).closed().round(), 7u + i);
}

}  // namespace
}  // namespace capstan::ps
