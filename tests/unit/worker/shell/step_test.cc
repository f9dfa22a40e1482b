#include "worker/shell/step.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "capstan/model/layout.h"
#include "capstan/v1/job.pb.h"
#include "worker/shell/step_gradients.h"

namespace capstan::worker {
namespace {

constexpr Timeline kTimeline{1};
constexpr Timeline kLater{2};

// One tensor of 1,000 floats, no table, one partition.
ParameterMap Map(v1::TensorRole role = v1::TENSOR_ROLE_UNSPECIFIED) {
  v1::JobSpec job;
  job.set_partition_count(1);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(1000);
  tensor.set_role(role);
  return *ParameterMap::Create(job);
}

class StepPoolTest : public testing::Test {
 protected:
  explicit StepPoolTest(v1::TensorRole role = v1::TENSOR_ROLE_UNSPECIFIED) : map_(Map(role)) {}

  std::shared_ptr<Step> Take() {
    auto batch = std::make_shared<Batch>();
    batch->offsets = {0};
    return pool_.Take(std::move(batch), owners_);
  }

  const ParameterMap map_;
  const std::vector<uint32_t> owners_ = {0};
  StepPool pool_{map_};
};

TEST_F(StepPoolTest, ABatchThatIsReadAheadHoldsNoCopyOfTheModel) {
  const std::shared_ptr<Step> step = Take();
  EXPECT_TRUE(step->parameters.empty());
  pool_.Lend(*step, kTimeline);
  EXPECT_EQ(step->parameters.size(), 1000u);
}

TEST_F(StepPoolTest, RoomThatWasLentGoesToTheNextThatNeedsIt) {
  std::shared_ptr<Step> first = Take(), waiting = Take();
  pool_.Lend(*first, kTimeline);
  const float* const room = first->parameters.data();
  first->parameter_gradients.resize(1000);
  const float* const gradients = first->parameter_gradients.data();
  first.reset();
  const std::shared_ptr<Step> again = Take();
  EXPECT_TRUE(again->parameters.empty()) << "steps that are used again hold no copy either";
  pool_.Lend(*waiting, kTimeline);
  EXPECT_EQ(waiting->parameters.data(), room);
  EXPECT_EQ(waiting->parameter_gradients.data(), gradients);
}

TEST_F(StepPoolTest, AStepIsLentRoomOnce) {
  const std::shared_ptr<Step> step = Take();
  pool_.Lend(*step, kTimeline);
  step->parameters[7] = 5;
  pool_.Lend(*step, kTimeline);
  EXPECT_EQ(step->parameters[7], 5);
}

TEST(StepPoolOfATableTest, ABatchWithAFewKeysMoreThanTheOneBeforeTakesLittleMoreRoom) {
  v1::JobSpec job;
  job.set_partition_count(1);
  job.add_tables()->set_dim(4);
  const ParameterMap map = *ParameterMap::Create(job);
  StepPool pool(map);
  for (const uint64_t count : {100, 107}) {
    auto batch = std::make_shared<Batch>();
    batch->offsets = {0};
    for (uint64_t key = 0; key < count; ++key) batch->keys.push_back(key);
    const std::shared_ptr<Step> step = pool.Take(std::move(batch), std::vector<uint32_t>{0});
    pool.Lend(*step, kTimeline);
    const StepGradients gradients(*step);
    const StepTable& table = step->tables[0];
    for (const std::vector<float>* of_rows : {&table.rows, &table.row_gradients}) {
      EXPECT_EQ(of_rows->size(), count * 4);
      EXPECT_LT(of_rows->capacity(), 500u);
    }
  }
}

class FrozenStepPoolTest : public StepPoolTest {
 protected:
  FrozenStepPoolTest() : StepPoolTest(v1::TENSOR_ROLE_FROZEN) {}

  // Whether the step has to pull them.
  bool Wants(const Step& step, Timeline timeline = kTimeline) const {
    return step.frozen_of != timeline;
  }
};

TEST_F(FrozenStepPoolTest, OneStepOfATimelinePullsThemAndOthersHaveCopies) {
  std::shared_ptr<Step> first = Take(), other = Take();
  pool_.Lend(*first, kTimeline);
  EXPECT_TRUE(Wants(*first));
  pool_.Lend(*other, kTimeline);
  EXPECT_TRUE(Wants(*other)) << "nobody has pulled them yet";
  first->parameters[7] = 5;
  pool_.OnPulled(*first, kTimeline);
  EXPECT_FALSE(Wants(*first)) << "it may be pulled for again";
  pool_.Lend(*other, kTimeline);
  EXPECT_FALSE(Wants(*other));
  EXPECT_EQ(other->parameters[7], 5);
}

TEST_F(FrozenStepPoolTest, RoomThatHasThemIsNotFilledAgain) {
  std::shared_ptr<Step> step = Take();
  pool_.Lend(*step, kTimeline);
  pool_.OnPulled(*step, kTimeline);
  step->parameters[7] = 5;
  step.reset();
  const std::shared_ptr<Step> again = Take();
  pool_.Lend(*again, kTimeline);
  EXPECT_FALSE(Wants(*again));
  EXPECT_EQ(again->parameters[7], 5);
}

TEST_F(FrozenStepPoolTest, InAnotherTimelineTheyArePulledAgain) {
  const std::shared_ptr<Step> step = Take(), other = Take();
  pool_.Lend(*step, kTimeline);
  pool_.OnPulled(*step, kTimeline);
  pool_.Lend(*step, kLater);
  EXPECT_TRUE(Wants(*step, kLater));
  step->parameters[7] = 6;
  pool_.OnPulled(*step, kLater);
  pool_.Lend(*other, kLater);
  EXPECT_FALSE(Wants(*other, kLater));
  EXPECT_EQ(other->parameters[7], 6);
}

TEST_F(StepPoolTest, AModelWithoutFrozenTensorsAsksForNone) {
  const std::shared_ptr<Step> step = Take();
  pool_.Lend(*step, kTimeline);
  EXPECT_EQ(step->frozen_of, kTimeline);
}

// Features user, seen and item; the last two share a table.
TEST(StepTablesTest, TheKeysOfATablesFeaturesAreDistinctTogether) {
  v1::JobSpec job;
  job.set_partition_count(4);
  for (const char* name : {"user", "item"}) {
    v1::TableSpec& table = *job.add_tables();
    table.set_id(static_cast<uint32_t>(job.tables_size() - 1));
    table.set_name(name);
    table.set_dim(name[0] == 'u' ? 2 : 3);
  }
  for (const char* table : {"user", "item", "item"}) {
    job.mutable_data()->add_features()->set_table(table);
  }
  const ParameterMap map = *ParameterMap::Create(job);
  StepPool pool(map, TablesOfFeatures(job));
  auto batch = std::make_shared<Batch>();
  batch->features = {{.offsets = {0, 1, 2}, .keys = {7, 7}},
                     {.offsets = {0, 2, 3}, .keys = {5, 6, 5}},
                     {.offsets = {0, 1, 2}, .keys = {6, 8}}};
  const std::vector<uint32_t> owners(4, 0);
  std::shared_ptr<Step> step = pool.Take(batch, owners);
  using Keys = std::vector<uint64_t>;
  using Index = std::vector<uint32_t>;
  ASSERT_EQ(step->tables.size(), 2u);
  EXPECT_EQ(step->tables[0].keys.unique, (Keys{7}));
  EXPECT_EQ(step->tables[0].keys.index, (Index{0, 0}));
  EXPECT_EQ(step->tables[1].keys.unique, (Keys{5, 6, 8}));
  EXPECT_EQ(step->tables[1].keys.index, (Index{0, 1, 0, 1, 2}));
  EXPECT_EQ(step->feature_begin, (std::vector<size_t>{0, 0, 3}));
  EXPECT_TRUE(step->tables[1].rows.empty()) << "it is only read ahead";
  pool.Lend(*step, kTimeline);
  EXPECT_EQ(step->tables[0].rows.size(), 2u);
  EXPECT_EQ(step->tables[1].rows.size(), 9u);
  EXPECT_EQ(step->plan.keys().size(), 4u) << "each key travels once";

  auto with_negatives = std::make_shared<Batch>(*batch);
  with_negatives->negatives = {.feature = 1, .keys = {8, 9, 9}};
  step->tables[1].row_gradients.resize(100);
  const float* const gradients = step->tables[1].row_gradients.data();
  step.reset();
  const std::shared_ptr<Step> next = pool.Take(with_negatives, owners);
  EXPECT_EQ(next->tables[0].keys.unique, (Keys{7}));
  EXPECT_EQ(next->tables[1].keys.unique, (Keys{5, 6, 8, 9}));
  EXPECT_EQ(next->tables[1].keys.index, (Index{0, 1, 0, 1, 2, 2, 3, 3}));
  EXPECT_EQ(next->negatives_begin, 5u) << "behind those of the records";
  EXPECT_TRUE(next->tables[1].rows.empty() && next->tables[1].row_gradients.empty())
      << "steps that are used again hold no rows either";
  pool.Lend(*next, kTimeline);
  EXPECT_EQ(next->tables[1].rows.size(), 12u);
  EXPECT_EQ(next->tables[1].row_gradients.data(), gradients) << "room goes to the next";
}

}  // namespace
}  // namespace capstan::worker
