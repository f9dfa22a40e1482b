// Synchronous rounds as their runners drive them, against real shards: announced to the
// coordinator, staged on every shard, reported, closed, and applied with the next round's requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "ps/process/coordinator_link.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/runner.h"

namespace capstan {
namespace {

using ps::ByteBudget;
using testing::Each;
using testing::HasSubstr;

class RoundsTest : public testing::TestWithParam<int> {};

TEST_P(RoundsTest, ARoundIsAppliedOnceOnEveryShardAsTheMeanByExamples) {
  LocalShards shards(SyncJob(/*lanes=*/2), GetParam());
  Runner first(shards, 0), second(shards, 1);
  first.Train(/*gradient=*/-1, /*examples=*/1);
  second.Train(/*gradient=*/-4, /*examples=*/3);
  for (Runner* runner : {&first, &second}) {
    ASSERT_EQ(runner->Open().round(), 2u);
    ASSERT_TRUE(runner->Pull().status.ok());
    EXPECT_THAT(runner->rows(), Each(3.25f));
    EXPECT_THAT(runner->dense(), Each(3.25f));
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, RoundsTest, testing::Values(1, 2, 3));

TEST(RoundsTest, NothingOfARoundIsSeenBeforeItIsClosed) {
  LocalShards shards(SyncJob(/*lanes=*/2), 2);
  Runner first(shards, 0), second(shards, 1);
  first.Train(/*gradient=*/-1, /*examples=*/1);
  EXPECT_EQ(first.Open().answer(), v1::OpenRoundReply::ANSWER_WAIT);
  ASSERT_EQ(second.Open().round(), 1u);
  ASSERT_TRUE(second.Pull().status.ok());
  EXPECT_THAT(second.rows(), Each(0));
}

TEST(RoundsTest, AWaitingRunnerIsAnsweredWhenTheRoundCloses) {
  LocalShards shards(SyncJob(/*lanes=*/2), 1);
  Runner first(shards, 0), second(shards, 1);
  first.Train(/*gradient=*/-1, /*examples=*/1);
  std::thread slow([&second] { second.Train(/*gradient=*/-1, /*examples=*/1); });
  EXPECT_EQ(first.Open(/*wait=*/absl::Seconds(15)).answer(), v1::OpenRoundReply::ANSWER_OPEN);
  EXPECT_EQ(first.round(), 2u);
  slow.join();
}

TEST(RoundsTest, StagingTheSameGradientAgainChangesNothing) {
  LocalShards shards(SyncJob(/*lanes=*/1), 2);
  Runner runner(shards, 0);
  ASSERT_EQ(runner.Open().round(), 1u);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(runner.Stage(/*gradient=*/-2, /*examples=*/1).status.ok());
  EXPECT_EQ(runner.Report(), v1::ReportLaneReply::ANSWER_COUNTED);
  EXPECT_EQ(runner.Report(), v1::ReportLaneReply::ANSWER_COUNTED) << "the reply may have been lost";
  ASSERT_EQ(runner.Open().round(), 2u);
  ASSERT_TRUE(runner.Pull().status.ok());
  EXPECT_THAT(runner.rows(), Each(2));
}

TEST(RoundsTest, WithABackupWorkerTheLateLaneIsToldSoAndItsGradientIsDiscarded) {
  LocalShards shards(SyncJob(/*lanes=*/2, /*backup_workers=*/1), 2);
  Runner quick(shards, 0), late(shards, 1);
  ASSERT_EQ(late.Open().round(), 1u);
  ASSERT_TRUE(late.Stage(/*gradient=*/-100, /*examples=*/1).status.ok());
  quick.Train(/*gradient=*/-1, /*examples=*/1);
  EXPECT_EQ(late.Report(), v1::ReportLaneReply::ANSWER_LATE);
  ASSERT_EQ(late.Open().round(), 2u);
  ASSERT_TRUE(late.Pull().status.ok());
  EXPECT_THAT(late.rows(), Each(1));
  EXPECT_EQ(late.Open().cursor(), 0u) << "the same batch is offered again";
}

TEST(RoundsTest, AGradientForARoundThatIsOverIsRefused) {
  LocalShards shards(SyncJob(/*lanes=*/2, /*backup_workers=*/1), 1);
  Runner quick(shards, 0), late(shards, 1);
  ASSERT_EQ(late.Open().round(), 1u);
  quick.Train(/*gradient=*/-1, /*examples=*/1);
  ASSERT_EQ(quick.Open().round(), 2u);
  ASSERT_TRUE(quick.Pull().status.ok());
  const PushResult result = late.Stage(/*gradient=*/-100, /*examples=*/1);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_GT(result.count(v1::OUTCOME_WRONG_ROUND), 0u);
  EXPECT_EQ(result.count(v1::OUTCOME_STAGED), 0u);
  EXPECT_EQ(late.Pull().status.code(), absl::StatusCode::kAborted);
}

TEST(RoundsTest, TheOldRunnerOfALaneIsFencedOff) {
  LocalShards shards(SyncJob(/*lanes=*/1), 2);
  Runner old(shards, 0, /*generation=*/1), present(shards, 0, /*generation=*/2);
  ASSERT_EQ(old.Open().round(), 1u);
  ASSERT_TRUE(old.Stage(/*gradient=*/-100, /*examples=*/1).status.ok());
  present.Train(/*gradient=*/-1, /*examples=*/1);
  EXPECT_EQ(old.Report(), v1::ReportLaneReply::ANSWER_OLD_GENERATION);
  EXPECT_EQ(old.Open().answer(), v1::OpenRoundReply::ANSWER_OLD_GENERATION);
  ASSERT_EQ(present.Open().round(), 2u);
  ASSERT_TRUE(present.Pull().status.ok());
  EXPECT_THAT(present.rows(), Each(1));
}

constexpr uint32_t kFourMebibytes = 1 << 20;  // Of floats.

// What waits for the end of a round must not count against what gRPC may use for messages: above
// that it would take no further one, and the round would never end.
TEST(RoundsTest, ARoundMayHoldMoreThanTheTransportMay) {
  constexpr int kLanes = 16;
  LocalShards shards(SyncJob(kLanes, /*backup_workers=*/0, kFourMebibytes), /*count=*/1,
                     /*first_port=*/0, {.max_buffer_bytes = 16 << 20});
  std::deque<Runner> runners;
  for (int lane = 0; lane < kLanes; ++lane) runners.emplace_back(shards, lane);
  for (Runner& runner : runners) runner.Train(/*gradient=*/-1, /*examples=*/1);
  EXPECT_GT(shards.at(0).shard().waiting_gradients().held(), kLanes * (size_t{4} << 20));
  ASSERT_EQ(runners[0].Open().round(), 2u);
  ASSERT_TRUE(runners[0].Pull().status.ok());
  EXPECT_THAT(runners[0].dense(), Each(1));
  EXPECT_EQ(shards.at(0).shard().waiting_gradients().held(), 0u);
}

TEST(RoundsTest, AGradientForWhichThereIsNoRoomIsRefusedAndTakenLater) {
  LocalShards shards(SyncJob(/*lanes=*/2, /*backup_workers=*/0, kFourMebibytes), /*count=*/1);
  ByteBudget& waiting = shards.at(0).shard().waiting_gradients();
  waiting.SetLimit(6 << 20);
  Runner first(shards, 0), second(shards, 1);
  first.Train(/*gradient=*/-1, /*examples=*/1);
  ASSERT_EQ(second.Open().round(), 1u);
  const PushResult refused = second.Stage(/*gradient=*/-1, /*examples=*/1);
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kResourceExhausted) << refused.status;
  EXPECT_THAT(shards.at(0).Metrics(),
              HasSubstr("capstan_gradients_rejected_total{reason=\"memory\"}"));
  waiting.SetLimit(16 << 20);
  ASSERT_TRUE(second.Stage(/*gradient=*/-1, /*examples=*/1).status.ok());
  EXPECT_EQ(second.Report(), v1::ReportLaneReply::ANSWER_COUNTED);
}

// Shards that ask the coordinator whose gradients are counted, or which rounds are closed, as their
// processes do.
class Links {
 public:
  explicit Links(LocalShards& shards, ps::Watched watched = ps::Watched::kCounts) {
    for (int i = 0; i < shards.size(); ++i) {
      links_.emplace_back(shards.at(i).shard(), nullptr, watched).SetView(shards.view());
    }
  }

 private:
  std::deque<ps::CoordinatorLink> links_;
};

// Whether no more than so many bytes of gradients wait on any shard, now or soon.
bool WaitsAtMost(LocalShards& shards, size_t bytes) {
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  for (int i = 0; i < shards.size(); ++i) {
    while (shards.at(i).shard().waiting_gradients().held() > bytes) {
      if (absl::Now() > deadline) return false;
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  return true;
}

TEST(RoundsTest, WhatIsCountedWaitsNoLongerThoughTheRoundIsOpen) {
  constexpr int kLanes = 3;
  LocalShards shards(SyncJob(kLanes, /*backup_workers=*/0, kFourMebibytes), /*count=*/2);
  const Links links(shards);
  std::deque<Runner> runners;
  for (int lane = 0; lane < kLanes; ++lane) runners.emplace_back(shards, lane);
  runners[1].Train(/*gradient=*/-2, /*examples=*/1);
  EXPECT_GT(shards.at(0).shard().waiting_gradients().held(), 0u) << "lane 0 comes first";
  runners[0].Train(/*gradient=*/-1, /*examples=*/2);
  EXPECT_TRUE(WaitsAtMost(shards, 0));
  runners[2].Train(/*gradient=*/-4, /*examples=*/1);
  ASSERT_EQ(runners[0].Open().round(), 2u);
  ASSERT_TRUE(runners[0].Pull().status.ok());
  EXPECT_THAT(runners[0].dense(), Each(2)) << "(2 * 1 + 2 + 4) / 4";
  EXPECT_THAT(runners[0].rows(), Each(2));
}

// Whether every shard has heard of the commit of this round, now or soon.
bool AllHearOf(uint64_t round, LocalShards& shards) {
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  for (int i = 0; i < shards.size(); ++i) {
    while (shards.at(i).shard().rounds().Passed(round).lanes.empty()) {
      if (absl::Now() > deadline) return false;
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  return true;
}

TEST(RoundsTest, WhatTheCoordinatorTellsTheShardsNoRequestHasToCarry) {
  LocalShards shards(SyncJob(/*lanes=*/2, /*backup_workers=*/1), /*count=*/3);
  const Links links(shards, ps::Watched::kCommits);
  Runner quick(shards, 0);
  for (uint64_t round = 1; round <= 3; ++round) {
    quick.Train(/*gradient=*/-1, /*examples=*/1);
    ASSERT_TRUE(AllHearOf(round, shards)) << round;
    ASSERT_EQ(quick.Open().round(), round + 1);
    const PullResult pulled = quick.PullWithoutCommit();
    ASSERT_TRUE(pulled.status.ok()) << pulled.status;
    EXPECT_THAT(quick.rows(), Each(static_cast<float>(round)));
    EXPECT_THAT(quick.dense(), Each(static_cast<float>(round)));
  }
}

TEST(RoundsTest, AShardThatHasNotHeardOfTheCommitAsksForIt) {
  LocalShards shards(SyncJob(/*lanes=*/1), /*count=*/2);
  Runner runner(shards, 0);
  runner.Train(/*gradient=*/-1, /*examples=*/1);
  ASSERT_EQ(runner.Open().round(), 2u);
  const PullResult refused = runner.PullWithoutCommit();
  EXPECT_TRUE(absl::IsOutOfRange(refused.status)) << refused.status;
  const PullResult pulled = runner.Pull();
  ASSERT_TRUE(pulled.status.ok()) << pulled.status;
  EXPECT_THAT(runner.rows(), Each(1));
  EXPECT_TRUE(runner.PullWithoutCommit().status.ok());
  const PushResult staged = runner.Stage(/*gradient=*/-1, /*examples=*/1);
  EXPECT_GT(staged.count(v1::OUTCOME_STAGED), 0u) << staged.status;
}

// A shard that has no room is not told otherwise: whoever could tell it is refused.
TEST(RoundsTest, ARefusedPushTellsOfTheRoundThatIsClosed) {
  LocalShards shards(SyncJob(/*lanes=*/2, /*backup_workers=*/0, kFourMebibytes), /*count=*/2);
  Runner first(shards, 0), second(shards, 1);
  first.Train(/*gradient=*/-1, /*examples=*/1);
  second.Train(/*gradient=*/-1, /*examples=*/1);
  ByteBudget& waiting = shards.at(1).shard().waiting_gradients();
  waiting.SetLimit(3 << 20);  // Room for one gradient.
  ASSERT_GT(waiting.held(), size_t{3} << 20) << "shard 1 has not heard of the end of the round";
  ASSERT_EQ(second.Open().round(), 2u);
  const PushResult staged = second.Stage(/*gradient=*/-1, /*examples=*/1);
  EXPECT_TRUE(staged.status.ok()) << staged.status;
  EXPECT_EQ(second.Report(), v1::ReportLaneReply::ANSWER_COUNTED);
}

TEST(RoundsTest, WhoIsLateForARoundIsToldSoThoughThereIsNoRoom) {
  LocalShards shards(SyncJob(/*lanes=*/2, /*backup_workers=*/0, kFourMebibytes), /*count=*/1);
  const Links links(shards);
  Runner late(shards, 0, /*generation=*/1), first(shards, 0, /*generation=*/2), second(shards, 1);
  ASSERT_EQ(late.Open().round(), 1u);
  first.Train(/*gradient=*/-1, /*examples=*/1);
  second.Train(/*gradient=*/-1, /*examples=*/1);
  second.Train(/*gradient=*/-1, /*examples=*/1);  // Waits for lane 0.
  shards.at(0).shard().waiting_gradients().SetLimit(1);
  PushResult told;
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  do {  // The shard is about to hear of the second round.
    told = late.Stage(/*gradient=*/-1, /*examples=*/1);
  } while (absl::IsResourceExhausted(told.status) && absl::Now() < deadline);
  EXPECT_FALSE(absl::IsResourceExhausted(told.status)) << told.status;
  EXPECT_EQ(told.count(v1::OUTCOME_STAGED), 0u);
}

TEST(RoundsTest, APushThatWaitsForNoRoundIsTakenInThoughThereIsNoRoomForThoseThatDo) {
  v1::JobSpec job = SyncJob(/*lanes=*/2, /*backup_workers=*/0, kFourMebibytes);
  *job.mutable_sparse_update() = {};
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
  LocalShards shards(job, /*count=*/1);
  Trainer trainer(shards);
  trainer.Plan({1, 2, 3});
  shards.at(0).shard().waiting_gradients().SetLimit(1);
  const PushResult pushed = trainer.Push(/*seq=*/0, /*gradient=*/-1);
  EXPECT_FALSE(absl::IsResourceExhausted(pushed.status)) << pushed.status;
}

TEST(RoundsTest, TheLaneWhoseTurnItIsIsTakenInThoughThereIsNoRoom) {
  LocalShards shards(SyncJob(/*lanes=*/3, /*backup_workers=*/0, kFourMebibytes), /*count=*/1);
  const Links links(shards);
  shards.at(0).shard().waiting_gradients().SetLimit(1 << 20);
  std::deque<Runner> runners;
  for (int lane = 0; lane < 3; ++lane) runners.emplace_back(shards, lane);
  ASSERT_EQ(runners[1].Open().round(), 1u);
  EXPECT_EQ(runners[1].Stage(/*gradient=*/-1, /*examples=*/1).status.code(),
            absl::StatusCode::kResourceExhausted);
  for (int lane = 0; lane < 3; ++lane) {
    EXPECT_TRUE(WaitsAtMost(shards, 1 << 20)) << "lane " << lane;
    runners[static_cast<size_t>(lane)].Train(/*gradient=*/-1, /*examples=*/1);
  }
  ASSERT_EQ(runners[0].Open().round(), 2u);
  ASSERT_TRUE(runners[0].Pull().status.ok());
  EXPECT_THAT(runners[0].dense(), Each(1));
}

TEST(RoundsTest, WhoLeavesInTheMiddleOfARoundIsCountedOnceAndItsHeirGoesOnBehindIt) {
  LocalShards shards(SyncJob(/*lanes=*/2), 2);
  Runner leaves(shards, 0, /*generation=*/1), heir(shards, 0, /*generation=*/2), other(shards, 1);
  leaves.Train(/*gradient=*/-1, /*examples=*/1);
  v1::OpenRoundReply told = heir.Open();
  EXPECT_EQ(told.answer(), v1::OpenRoundReply::ANSWER_WAIT) << "its lane is in";
  other.Train(/*gradient=*/-3, /*examples=*/1);
  told = heir.Open();
  EXPECT_EQ(told.answer(), v1::OpenRoundReply::ANSWER_OPEN);
  EXPECT_EQ(told.round(), 2u);
  EXPECT_EQ(told.cursor(), 1u) << "the batch of round 1 is done";
  ASSERT_TRUE(heir.Pull().status.ok());
  EXPECT_THAT(heir.rows(), Each(2));
}

TEST(RoundsTest, WhileTheyAreHeldNoRoundOpens) {
  LocalShards shards(SyncJob(/*lanes=*/1), 1);
  Runner runner(shards, 0);
  runner.Train(/*gradient=*/-1, /*examples=*/1);
  EXPECT_EQ(runner.Hold(true, /*number=*/1).last().round(), 1u);
  EXPECT_EQ(runner.Open().answer(), v1::OpenRoundReply::ANSWER_WAIT);
  runner.Hold(false, /*number=*/2);
  EXPECT_EQ(runner.Open().round(), 2u);
}

}  // namespace
}  // namespace capstan
