#include "worker/shell/step.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan::worker {
namespace {

// One tensor of 1,000 floats, no table, one partition.
ParameterMap Map() {
  v1::JobSpec job;
  job.set_partition_count(1);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(1000);
  return *ParameterMap::Create(job);
}

class StepPoolTest : public testing::Test {
 protected:
  std::shared_ptr<Step> Take() {
    auto batch = std::make_shared<Batch>();
    batch->offsets = {0};
    return pool_.Take(std::move(batch), owners_);
  }

  const ParameterMap map_ = Map();
  const std::vector<uint32_t> owners_ = {0};
  StepPool pool_{map_};
};

TEST_F(StepPoolTest, ABatchThatIsReadAheadHoldsNoCopyOfTheModel) {
  const std::shared_ptr<Step> step = Take();
  EXPECT_TRUE(step->parameters.empty());
  pool_.LendDense(*step);
  EXPECT_EQ(step->parameters.size(), 1000u);
}

TEST_F(StepPoolTest, RoomThatWasLentGoesToTheNextThatNeedsIt) {
  std::shared_ptr<Step> first = Take(), waiting = Take();
  pool_.LendDense(*first);
  const float* const room = first->parameters.data();
  first->parameter_gradients.resize(1000);
  const float* const gradients = first->parameter_gradients.data();
  first.reset();
  const std::shared_ptr<Step> again = Take();
  EXPECT_TRUE(again->parameters.empty()) << "steps that are used again hold no copy either";
  pool_.LendDense(*waiting);
  EXPECT_EQ(waiting->parameters.data(), room);
  EXPECT_EQ(waiting->parameter_gradients.data(), gradients);
}

TEST_F(StepPoolTest, AStepIsLentRoomOnce) {
  const std::shared_ptr<Step> step = Take();
  pool_.LendDense(*step);
  step->parameters[7] = 5;
  pool_.LendDense(*step);
  EXPECT_EQ(step->parameters[7], 5);
}

}  // namespace
}  // namespace capstan::worker
