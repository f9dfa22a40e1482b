#include "worker/shell/step_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "capstan/data/formats/batch.h"

namespace capstan::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class StepRequestsTest : public testing::Test {
 protected:
  StepRequestsTest() {
    for (uint32_t id : {0, 1}) {
      v1::TableSpec& table = *job_.add_tables();
      table.set_id(id);
      table.set_dim(2);
    }
    auto batch = std::make_shared<Batch>();
    batch->labels = {1, 0, 1};
    step_->batch = std::move(batch);
    step_->parameters = {1, 2};
    step_->parameter_gradients = {3, 4};
    step_->tables.resize(2);
    for (StepTable& table : step_->tables) {
      table.rows = table.row_gradients = {0, 0};
      table.row_versions = {0};
    }
  }

  void JudgeRows() {
    job_.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
    job_.mutable_sparse_update()->set_stale_gradients(v1::STALE_GRADIENTS_SCALE);
  }

  StepPush PushOf(const SendPush& action) { return {job_, step_, action, {}}; }

  StepTable& table(size_t i) { return step_->tables[i]; }

  v1::JobSpec job_ = [] {
    v1::JobSpec job;
    job.set_partition_count(1);
    return job;
  }();
  const ParameterMap map_ = *ParameterMap::Create(job_);
  const std::shared_ptr<Step> step_ = std::make_shared<Step>(map_);
};

TEST_F(StepRequestsTest, APullFillsTheStepAndLeavesOutWhatEarlierOnesHaveBrought) {
  const StepPull pull(job_, step_, {.ticket = 5, .shard = ShardIndex{3}, .clock = 9},
                      /*frozen=*/false);
  EXPECT_EQ(pull.action().ticket, 5u);
  EXPECT_EQ(&pull.plan(), &step_->plan);
  EXPECT_EQ(pull.options().clock, 9u);
  EXPECT_FALSE(pull.options().evaluation);
  EXPECT_FALSE(pull.options().round.has_value());
  EXPECT_EQ(pull.options().answered, &step_->pulled);
  EXPECT_THAT(pull.target().rows, ElementsAre(table(0).rows.data(), table(1).rows.data()));
  EXPECT_EQ(pull.target().dense, step_->parameters.data());
  EXPECT_EQ(pull.target().versions, &step_->versions);
}

TEST_F(StepRequestsTest, ALanesPullNamesItsRoundAndWhatTheLastOneConsistedOf) {
  SendPull action;
  action.lane =
      LaneName{.round = 4, .closed = std::make_shared<const RoundCommit>(RoundCommit{.round = 3})};
  const StepPull pull(job_, step_, action, /*frozen=*/false);
  action.lane->closed.reset();
  ASSERT_TRUE(pull.options().round.has_value());
  EXPECT_EQ(pull.options().round->round, 4u);
  EXPECT_EQ(pull.options().round->closed->round, 3u) << "the pull keeps it";
}

TEST_F(StepRequestsTest, VersionsOfRowsArePulledWhereGradientsAreJudgedByThemAndNotToEvaluate) {
  EXPECT_THAT(StepPull(job_, step_, {}, /*frozen=*/false).target().row_versions, IsEmpty());
  JudgeRows();
  EXPECT_THAT(StepPull(job_, step_, {}, /*frozen=*/false).target().row_versions,
              ElementsAre(table(0).row_versions.data(), table(1).row_versions.data()));
  const StepPull evaluates(job_, step_, {.evaluation = true}, /*frozen=*/false);
  EXPECT_THAT(evaluates.target().row_versions, IsEmpty());
  EXPECT_TRUE(evaluates.options().evaluation);
}

TEST_F(StepRequestsTest, AJobWithoutTablesPullsAndPushesNoRows) {
  job_.clear_tables();
  step_->tables.resize(1);
  JudgeRows();
  const StepPull pull(job_, step_, {}, /*frozen=*/false);
  EXPECT_THAT(pull.target().rows, IsEmpty());
  EXPECT_THAT(pull.target().row_versions, IsEmpty());
  const StepPush push(job_, step_, {}, {});
  EXPECT_THAT(push.source().rows, IsEmpty());
  EXPECT_THAT(push.source().row_versions, IsEmpty());
}

TEST_F(StepRequestsTest, APushBringsTheGradientAndLeavesOutWhatEarlierOnesHaveSettled) {
  const StepPush push(job_, step_, {.ticket = 5, .clock = 9}, {.examples = 100, .seal = 7});
  EXPECT_EQ(push.action().ticket, 5u);
  EXPECT_EQ(&push.plan(), &step_->plan);
  EXPECT_EQ(push.options().clock, 9u);
  EXPECT_FALSE(push.options().empty);
  EXPECT_EQ(push.options().examples, 3u);
  EXPECT_EQ(push.options().progress.examples, 100u);
  EXPECT_EQ(push.options().progress.seal, 7u);
  EXPECT_EQ(push.options().answered, &step_->pushed);
  EXPECT_FALSE(push.options().stream.has_value());
  EXPECT_FALSE(push.options().stage.has_value());
  EXPECT_THAT(push.source().rows,
              ElementsAre(table(0).row_gradients.data(), table(1).row_gradients.data()));
  EXPECT_EQ(push.source().dense, step_->parameter_gradients.data());
  EXPECT_EQ(push.source().versions, &step_->versions);
}

TEST_F(StepRequestsTest, APushHasTheNamesThatItsPartsNeed) {
  const StepPush streamed =
      PushOf({.empty = true, .stream = StreamPush{.stream = StreamId::Task(1, 2), .seq = 6}});
  EXPECT_TRUE(streamed.options().empty);
  EXPECT_EQ(streamed.options().stream->stream, StreamId::Task(1, 2));
  EXPECT_EQ(streamed.options().stream->seq, 6u);
  SendPush action;
  action.stage = LaneName{
      LaneIndex{8}, {.count = 2}, 4, std::make_shared<const RoundCommit>(RoundCommit{.round = 3})};
  const StepPush staged = PushOf(action);
  action.stage->closed.reset();
  ASSERT_TRUE(staged.options().stage.has_value());
  EXPECT_EQ(staged.options().stage->lane, LaneIndex{8});
  EXPECT_EQ(staged.options().stage->generation.count, 2u);
  EXPECT_EQ(staged.options().stage->round.round, 4u);
  EXPECT_EQ(staged.options().stage->round.closed->round, 3u);
}

TEST_F(StepRequestsTest, VersionsOfRowsArePushedWhereGradientsAreJudgedByThem) {
  EXPECT_THAT(PushOf({}).source().row_versions, IsEmpty());
  JudgeRows();
  EXPECT_THAT(PushOf({}).source().row_versions,
              ElementsAre(table(0).row_versions.data(), table(1).row_versions.data()));
}

TEST_F(StepRequestsTest, WhatAGradientWasComputedFromIsPushedWhereShardsCompensate) {
  EXPECT_THAT(PushOf({}).source().pulled_rows, IsEmpty());
  EXPECT_EQ(PushOf({}).source().pulled_dense, nullptr);
  job_.mutable_dense_update()->set_stale_gradients(v1::STALE_GRADIENTS_COMPENSATE);
  const StepPush push = PushOf({});
  EXPECT_THAT(push.source().pulled_rows, ElementsAre(table(0).rows.data(), table(1).rows.data()));
  EXPECT_EQ(push.source().pulled_dense, step_->parameters.data());
}

TEST_F(StepRequestsTest, WhatAProgramWritesInPlaceIsNotTakenForWhatWasPulled) {
  job_.mutable_dense_update()->set_stale_gradients(v1::STALE_GRADIENTS_COMPENSATE);
  step_->KeepPulled();
  step_->parameters[1] = table(1).rows[0] = 100;
  const StepPush push = PushOf({});
  EXPECT_THAT(absl::MakeSpan(push.source().pulled_dense, 2), ElementsAre(1, 2));
  EXPECT_THAT(absl::MakeSpan(push.source().pulled_rows[1], 2), ElementsAre(0, 0));
}

TEST_F(StepRequestsTest, FrozenTensorsArePulledWhereTheyAreNotKnown) {
  EXPECT_TRUE(StepPull(job_, step_, {}, /*frozen=*/true).options().frozen);
  EXPECT_FALSE(StepPull(job_, step_, {}, /*frozen=*/false).options().frozen);
}

}  // namespace
}  // namespace capstan::worker
