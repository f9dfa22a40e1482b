// What an update policy does to gradients on the shard, as clients see it through gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

using testing::ContainsRegex;
using testing::Each;
using testing::FloatEq;

v1::JobSpec JobWith(const v1::UpdatePolicy& policy) {
  v1::JobSpec job = SmallJob(/*dim=*/2, /*dense_width=*/10);
  *job.mutable_dense_update() = policy;
  *job.mutable_sparse_update() = policy;
  return job;
}

v1::UpdatePolicy Stale(v1::StaleGradients what) {
  v1::UpdatePolicy policy;
  policy.set_kind(v1::POLICY_KIND_ASYNC);
  policy.set_stale_gradients(what);
  return policy;
}

// A shard whose parameters are 1, and a client that has pulled them when they were 0: its next push
// is stale by one version.
struct StaleClient {
  explicit StaleClient(const v1::UpdatePolicy& policy)
      : shards(JobWith(policy), 2), other(shards), trainer(shards) {
    const bool pulled = policy.stale_gradients() == v1::STALE_GRADIENTS_COMPENSATE;
    for (Trainer* client : {&other, &trainer}) {
      client->send_pulled = pulled;
      client->Plan({1, 2, 3});
      EXPECT_TRUE(client->Pull().status.ok());
    }
    EXPECT_GT(Push(other, /*stream=*/1, /*gradient=*/-1).count(v1::OUTCOME_APPLIED), 0u);
  }

  static PushResult Push(Trainer& client, uint64_t stream, float gradient, uint64_t seq = 0) {
    return client.Push({.stream = StreamPush{StreamId::Session(stream), seq, {1, 1}, 0}}, gradient);
  }
  // The parameters after the stale client has pushed.
  void ExpectAfter(float gradient, float value) {
    const PushResult result = Push(trainer, /*stream=*/2, gradient);
    ASSERT_TRUE(result.status.ok()) << result.status;
    ASSERT_TRUE(trainer.Pull().status.ok());
    EXPECT_THAT(trainer.rows, Each(value));
    EXPECT_THAT(trainer.dense, Each(value));
  }

  LocalShards shards;
  Trainer other;
  Trainer trainer;
};

TEST(PoliciesTest, AStaleGradientIsAppliedAsItIs) {
  StaleClient(Stale(v1::STALE_GRADIENTS_UNSPECIFIED)).ExpectAfter(/*gradient=*/-4, /*value=*/5);
}

TEST(PoliciesTest, AStaleGradientIsDividedByItsStaleness) {
  StaleClient stale(Stale(v1::STALE_GRADIENTS_SCALE));
  StaleClient::Push(stale.other, /*stream=*/1, /*gradient=*/-1, /*seq=*/1);  // Itself one behind.
  stale.ExpectAfter(/*gradient=*/-4, /*value=*/4);
}

TEST(PoliciesTest, CompensationMovesAStaleGradientByHowFarTheWeightsHaveGone) {
  v1::UpdatePolicy policy = Stale(v1::STALE_GRADIENTS_COMPENSATE);
  policy.set_compensate_lambda(0.125f);
  // -4 + 0.125 * 16 * (1 - 0) = -2.
  StaleClient(policy).ExpectAfter(/*gradient=*/-4, /*value=*/3);
}

TEST(PoliciesTest, TheLearningRateFollowsTheProgressThatPushesTell) {
  v1::UpdatePolicy async;
  async.set_kind(v1::POLICY_KIND_ASYNC);
  v1::JobSpec job = JobWith(async);
  job.mutable_tables(0)->mutable_optimizer()->mutable_schedule()->set_warmup_examples(100);
  job.mutable_tensors(0)->mutable_optimizer()->mutable_schedule()->set_warmup_examples(100);
  LocalShards shards(job, 2);
  Trainer trainer(shards);
  trainer.Plan({1, 2, 3});
  ASSERT_TRUE(trainer.Pull().status.ok());
  uint64_t seq = 0;
  const auto push = [&](uint64_t progress) {
    ASSERT_TRUE(trainer
                    .Push({.stream = StreamPush{StreamId::Session(1), seq++, {1, 1}, 0},
                           .progress = {.examples = progress}},
                          /*gradient=*/-1)
                    .status.ok());
    ASSERT_TRUE(trainer.Pull().status.ok());
  };
  push(0);
  EXPECT_THAT(trainer.rows, Each(0));
  EXPECT_THAT(trainer.dense, Each(0));
  push(50);
  EXPECT_THAT(trainer.rows, Each(0.5f));
  EXPECT_THAT(trainer.dense, Each(0.5f));
  push(25);  // From one who has heard less: it does not go back.
  EXPECT_THAT(trainer.rows, Each(1));
  EXPECT_THAT(trainer.dense, Each(1));
}

TEST(PoliciesTest, CompensationNeedsTheWeightsAsPulled) {
  StaleClient stale(Stale(v1::STALE_GRADIENTS_COMPENSATE));
  stale.trainer.send_pulled = false;
  EXPECT_EQ(StaleClient::Push(stale.trainer, /*stream=*/2, -4).status.code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PoliciesTest, AGradientAboveTheBoundIsDroppedToldAndCounted) {
  v1::UpdatePolicy policy = Stale(v1::STALE_GRADIENTS_DROP);
  policy.set_drop_above(0);
  StaleClient stale(policy);
  const PushResult result = StaleClient::Push(stale.trainer, /*stream=*/2, -4);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.count(v1::OUTCOME_APPLIED), 0u);
  EXPECT_GT(result.count(v1::OUTCOME_DROPPED), 0u);
  EXPECT_EQ(StaleClient::Push(stale.trainer, /*stream=*/2, -4).count(v1::OUTCOME_DROPPED), 0u)
      << "the repetition is settled";
  ASSERT_TRUE(stale.trainer.Pull().status.ok());
  EXPECT_THAT(stale.trainer.rows, Each(1));
  EXPECT_THAT(stale.shards.at(0).Metrics() + stale.shards.at(1).Metrics(),
              ContainsRegex("rejected_total.reason=\"stale\". [1-9]"));
}

class AggregationTest : public testing::Test {
 protected:
  static v1::JobSpec Job() {
    v1::UpdatePolicy policy;
    policy.set_kind(v1::POLICY_KIND_ASYNC);
    policy.set_aggregate(3);
    return JobWith(policy);
  }
  AggregationTest() { trainer_.Plan({1, 2, 3}); }

  void ExpectParameters(float value) {
    ASSERT_TRUE(trainer_.Pull().status.ok());
    EXPECT_THAT(trainer_.rows, Each(FloatEq(value)));
    EXPECT_THAT(trainer_.dense, Each(FloatEq(value)));
  }
  // Gradients that the shards say they have applied.
  uint64_t Flush() {
    uint64_t gradients = 0;
    for (int shard = 0; shard < 2; ++shard) {
      std::optional<absl::StatusOr<v1::FlushReply>> reply;
      trainer_.client.Call<v1::FlushReply>(
          ShardIndex{shard}, "Flush", v1::FlushRequest(), absl::Seconds(10),
          [&reply](const absl::StatusOr<v1::FlushReply>& answer) { reply = answer; });
      while (!reply) trainer_.loop.Poll(absl::Seconds(1));
      EXPECT_TRUE(reply->ok()) << reply->status();
      if (reply->ok()) gradients += (*reply)->gradients();
    }
    return gradients;
  }

  LocalShards shards_{Job(), 2};
  Trainer trainer_{shards_};
};

TEST_F(AggregationTest, ThreeGradientsAreOneUpdateByTheirMean) {
  for (uint64_t seq = 0; seq < 2; ++seq) {
    EXPECT_GT(trainer_.Push(seq, -1).count(v1::OUTCOME_QUEUED), 0u);
    ExpectParameters(0);
  }
  trainer_.Push(2, -7);
  ExpectParameters(3);
  for (const auto& [dense, sparse] : trainer_.versions) EXPECT_LE(sparse, 1u);
}

TEST_F(AggregationTest, AQueuedGradientIsNotQueuedTwice) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(trainer_.Push(0, -1).status.ok());
  ExpectParameters(0);
  Flush();
  ExpectParameters(1);
}

TEST_F(AggregationTest, AFlushAppliesTheMeanOfWhatIsLeft) {
  trainer_.Push(0, -2);
  trainer_.Push(1, -4);
  EXPECT_GT(Flush(), 0u);
  ExpectParameters(3);
  EXPECT_EQ(Flush(), 0u);
}

}  // namespace
}  // namespace capstan
