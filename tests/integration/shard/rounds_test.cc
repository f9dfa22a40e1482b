// Synchronous rounds as their holders drive them, against real shards: announced to the keeper,
// staged on every shard, reported, closed, and applied with the next round's requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "capstan/consistency/closed_set.h"
#include "capstan/consistency/generation.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

using ps::ByteBudget;
using testing::Each;
using testing::HasSubstr;

constexpr ShardIndex kKeeper{0};

v1::JobSpec SyncJob(uint32_t lanes, uint32_t backup_workers = 0, uint32_t dense_width = 10) {
  v1::JobSpec job = SmallJob(/*dim=*/2, dense_width);
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_kind(v1::POLICY_KIND_SYNC);
    policy->set_lanes(lanes);
    policy->set_backup_workers(backup_workers);
  }
  return job;
}

// The holder of one lane. Every step can be taken alone.
class Holder {
 public:
  Holder(LocalShards& shards, int lane, uint64_t generation = 1)
      : trainer_(shards), lane_(lane), generation_{1, generation} {
    trainer_.Plan({1, 2, 3, 4, 5, 6, 7, 8});
  }

  // What the keeper answers; of OPEN the round is taken over.
  v1::OpenRoundReply Open(absl::Duration wait = absl::ZeroDuration()) {
    v1::OpenRoundRequest request;
    request.set_lane(static_cast<uint32_t>(lane_));
    ToProto(generation_, *request.mutable_generation());
    request.set_wait_seconds(absl::ToDoubleSeconds(wait));
    v1::OpenRoundReply reply = Call<v1::OpenRoundReply>("OpenRound", request);
    if (reply.answer() == v1::OpenRoundReply::ANSWER_OPEN) {
      round_ = reply.round();
      closed_ = *ClosedSetFromProto(reply.closed());
    }
    return reply;
  }

  PullOutcome Pull() { return trainer_.Pull({.round = Name()}); }

  PushOutcome Stage(float gradient, uint32_t examples) {
    examples_ = examples;
    return trainer_.Push(
        {.stage = StageName{LaneIndex{lane_}, generation_, Name()}, .examples = examples},
        gradient);
  }

  v1::ReportLaneReply::Answer Report() {
    v1::ReportLaneRequest request;
    request.set_lane(static_cast<uint32_t>(lane_));
    ToProto(generation_, *request.mutable_generation());
    request.set_round(round_);
    request.set_examples(examples_);
    return Call<v1::ReportLaneReply>("ReportLane", request).answer();
  }

  v1::HoldRoundsReply Hold(bool hold, uint64_t number) {
    v1::HoldRoundsRequest request;
    request.set_hold(hold);
    request.set_number(number);
    return Call<v1::HoldRoundsReply>("HoldRounds", request);
  }

  // A whole step: OPEN, staged on every shard, and counted.
  void Train(float gradient, uint32_t examples) {
    ASSERT_EQ(Open(absl::Seconds(10)).answer(), v1::OpenRoundReply::ANSWER_OPEN);
    const PushOutcome staged = Stage(gradient, examples);
    ASSERT_TRUE(staged.status.ok()) << staged.status;
    ASSERT_GT(staged.count(v1::FATE_STAGED), 0u);
    ASSERT_EQ(Report(), v1::ReportLaneReply::ANSWER_COUNTED);
  }

  const std::vector<float>& rows() const { return trainer_.rows; }
  const std::vector<float>& dense() const { return trainer_.dense; }
  uint64_t round() const { return round_; }

 private:
  RoundName Name() const { return {round_, &closed_}; }

  template <typename Reply, typename Request>
  Reply Call(const std::string& method, const Request& request) {
    std::optional<absl::StatusOr<Reply>> reply;
    trainer_.client.Call<Reply>(
        kKeeper, method, request, absl::Seconds(20),
        [&reply](absl::StatusOr<Reply> answer) { reply = std::move(answer); });
    while (!reply) trainer_.loop.Poll(absl::Seconds(1));
    EXPECT_TRUE(reply->ok()) << method << ": " << reply->status();
    return reply->ok() ? **reply : Reply();
  }

  Trainer trainer_;
  const int lane_;
  const Generation generation_;
  uint64_t round_ = 0;
  ClosedSet closed_;
  uint32_t examples_ = 0;
};

class RoundsTest : public testing::TestWithParam<int> {};

TEST_P(RoundsTest, ARoundIsAppliedOnceOnEveryShardAsTheMeanByExamples) {
  LocalShards shards(SyncJob(/*lanes=*/2), GetParam());
  Holder first(shards, 0), second(shards, 1);
  first.Train(/*gradient=*/-1, /*examples=*/1);
  second.Train(/*gradient=*/-4, /*examples=*/3);
  for (Holder* holder : {&first, &second}) {
    ASSERT_EQ(holder->Open().round(), 2u);
    ASSERT_TRUE(holder->Pull().status.ok());
    EXPECT_THAT(holder->rows(), Each(3.25f));
    EXPECT_THAT(holder->dense(), Each(3.25f));
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, RoundsTest, testing::Values(1, 2, 3));

TEST(RoundsTest, NothingOfARoundIsSeenBeforeItIsClosed) {
  LocalShards shards(SyncJob(/*lanes=*/2), 2);
  Holder first(shards, 0), second(shards, 1);
  first.Train(/*gradient=*/-1, /*examples=*/1);
  EXPECT_EQ(first.Open().answer(), v1::OpenRoundReply::ANSWER_WAIT);
  ASSERT_EQ(second.Open().round(), 1u);
  ASSERT_TRUE(second.Pull().status.ok());
  EXPECT_THAT(second.rows(), Each(0));
}

TEST(RoundsTest, AWaitingHolderIsAnsweredWhenTheRoundCloses) {
  LocalShards shards(SyncJob(/*lanes=*/2), 1);
  Holder first(shards, 0), second(shards, 1);
  first.Train(/*gradient=*/-1, /*examples=*/1);
  std::thread slow([&second] { second.Train(/*gradient=*/-1, /*examples=*/1); });
  EXPECT_EQ(first.Open(/*wait=*/absl::Seconds(15)).answer(), v1::OpenRoundReply::ANSWER_OPEN);
  EXPECT_EQ(first.round(), 2u);
  slow.join();
}

TEST(RoundsTest, StagingTheSameGradientAgainChangesNothing) {
  LocalShards shards(SyncJob(/*lanes=*/1), 2);
  Holder holder(shards, 0);
  ASSERT_EQ(holder.Open().round(), 1u);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(holder.Stage(/*gradient=*/-2, /*examples=*/1).status.ok());
  EXPECT_EQ(holder.Report(), v1::ReportLaneReply::ANSWER_COUNTED);
  EXPECT_EQ(holder.Report(), v1::ReportLaneReply::ANSWER_COUNTED) << "the reply may have been lost";
  ASSERT_EQ(holder.Open().round(), 2u);
  ASSERT_TRUE(holder.Pull().status.ok());
  EXPECT_THAT(holder.rows(), Each(2));
}

TEST(RoundsTest, WithABackupWorkerTheLateLaneIsToldSoAndItsGradientIsDiscarded) {
  LocalShards shards(SyncJob(/*lanes=*/2, /*backup_workers=*/1), 2);
  Holder quick(shards, 0), late(shards, 1);
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
  Holder quick(shards, 0), late(shards, 1);
  ASSERT_EQ(late.Open().round(), 1u);
  quick.Train(/*gradient=*/-1, /*examples=*/1);
  ASSERT_EQ(quick.Open().round(), 2u);
  ASSERT_TRUE(quick.Pull().status.ok());
  const PushOutcome outcome = late.Stage(/*gradient=*/-100, /*examples=*/1);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_GT(outcome.count(v1::FATE_WRONG_ROUND), 0u);
  EXPECT_EQ(outcome.count(v1::FATE_STAGED), 0u);
  EXPECT_EQ(late.Pull().status.code(), absl::StatusCode::kAborted);
}

TEST(RoundsTest, TheOldHolderOfALaneIsFencedOff) {
  LocalShards shards(SyncJob(/*lanes=*/1), 2);
  Holder old(shards, 0, /*generation=*/1), present(shards, 0, /*generation=*/2);
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
  std::deque<Holder> holders;
  for (int lane = 0; lane < kLanes; ++lane) holders.emplace_back(shards, lane);
  for (Holder& holder : holders) holder.Train(/*gradient=*/-1, /*examples=*/1);
  EXPECT_GT(shards.at(0).shard().waiting_gradients().held(), kLanes * (size_t{4} << 20));
  ASSERT_EQ(holders[0].Open().round(), 2u);
  ASSERT_TRUE(holders[0].Pull().status.ok());
  EXPECT_THAT(holders[0].dense(), Each(1));
  EXPECT_EQ(shards.at(0).shard().waiting_gradients().held(), 0u);
}

TEST(RoundsTest, AGradientForWhichThereIsNoRoomIsRefusedAndTakenLater) {
  LocalShards shards(SyncJob(/*lanes=*/2, /*backup_workers=*/0, kFourMebibytes), /*count=*/1);
  ByteBudget& waiting = shards.at(0).shard().waiting_gradients();
  waiting.SetLimit(6 << 20);
  Holder first(shards, 0), second(shards, 1);
  first.Train(/*gradient=*/-1, /*examples=*/1);
  ASSERT_EQ(second.Open().round(), 1u);
  const PushOutcome refused = second.Stage(/*gradient=*/-1, /*examples=*/1);
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kResourceExhausted) << refused.status;
  EXPECT_THAT(shards.at(0).Metrics(),
              HasSubstr("capstan_gradients_rejected_total{reason=\"memory\"}"));
  waiting.SetLimit(16 << 20);
  ASSERT_TRUE(second.Stage(/*gradient=*/-1, /*examples=*/1).status.ok());
  EXPECT_EQ(second.Report(), v1::ReportLaneReply::ANSWER_COUNTED);
}

TEST(RoundsTest, WhoLeavesInTheMiddleOfARoundIsCountedOnceAndItsHeirGoesOnBehindIt) {
  LocalShards shards(SyncJob(/*lanes=*/2), 2);
  Holder leaves(shards, 0, /*generation=*/1), heir(shards, 0, /*generation=*/2), other(shards, 1);
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
  Holder holder(shards, 0);
  holder.Train(/*gradient=*/-1, /*examples=*/1);
  EXPECT_EQ(holder.Hold(true, /*number=*/1).last().round(), 1u);
  EXPECT_EQ(holder.Open().answer(), v1::OpenRoundReply::ANSWER_WAIT);
  holder.Hold(false, /*number=*/2);
  EXPECT_EQ(holder.Open().round(), 2u);
}

}  // namespace
}  // namespace capstan
