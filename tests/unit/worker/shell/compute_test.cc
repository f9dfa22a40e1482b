// Steps of towers whose keys are those of data.features.
#include "worker/shell/compute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "capstan/model/layout.h"
#include "tests/unit/model/model_fixture.h"

namespace capstan::worker {
namespace {

using testing::ElementsAre;

// Logistic regression over user and item (a key each), seen (a weighted mean of items) and tags (a
// sum of items): a row is one weight.
class ComputeTest : public testing::Test {
 protected:
  ComputeTest() {
    job_.set_partition_count(4);
    EXPECT_EQ(LayOutModel(job_), absl::OkStatus());
    map_ = std::make_unique<ParameterMap>(*ParameterMap::Create(job_));
    pool_ = std::make_unique<StepPool>(*map_, TablesOfFeatures(job_));
    network_ = *Network::Create(job_);
    auto batch = std::make_shared<Batch>();
    batch->labels = {1, 0};
    batch->offsets = {0, 0, 0};
    batch->features = {{.offsets = {0, 1, 2}, .keys = {7, 8}, .weights = {}},
                       {.offsets = {0, 1, 2}, .keys = {5, 6}, .weights = {}},
                       {.offsets = {0, 2, 2}, .keys = {5, 9}, .weights = {1, 3}},
                       {.offsets = {0, 0, 2}, .keys = {6, 6}, .weights = {}}};
    step_ = pool_->Take(std::move(batch), std::vector<uint32_t>(4, 0));
    step_->stream = {};
    pool_->Lend(*step_, Timeline{1});
  }

  v1::JobSpec job_ = SpecOfFeatures("lr", 0, 0, 0);
  std::unique_ptr<ParameterMap> map_;
  std::unique_ptr<StepPool> pool_;
  std::unique_ptr<Network> network_;
  std::shared_ptr<Step> step_;
};

TEST_F(ComputeTest, LogitsAreMadeOfTheRowsOfAllTables) {
  ASSERT_THAT(step_->tables[1].keys.unique, ElementsAre(5, 6, 9));
  step_->tables[0].rows = {1, 2};
  step_->tables[1].rows = {4, 8, 16};
  step_->parameters = {0.5f};
  ComputeLogits(*network_, *step_);
  EXPECT_THAT(step_->logits, ElementsAre(1 + 4 + 13 + 0.5f, 2 + 8 + 16 + 0.5f));
}

TEST_F(ComputeTest, EachTableGetsTheGradientsOfItsRows) {
  ComputeGradients(*network_, /*clip_norm=*/0, *step_);
  EXPECT_NEAR(step_->loss_sum, 2 * std::log(2), 1e-6);
  EXPECT_THAT(step_->tables[0].row_gradients, ElementsAre(-0.25f, 0.25f));
  EXPECT_THAT(step_->tables[1].row_gradients, ElementsAre(-0.3125f, 0.75f, -0.1875f));
  EXPECT_THAT(step_->parameter_gradients, ElementsAre(0));
  EXPECT_FALSE(step_->nonfinite);
}

}  // namespace
}  // namespace capstan::worker
