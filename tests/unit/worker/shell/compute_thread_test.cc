// Steps on their way through the thread that computes them.
#include "worker/shell/compute_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "capstan/model/layout.h"
#include "tests/unit/model/model_fixture.h"

namespace capstan::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr absl::Duration kMinStep = absl::Milliseconds(20);

// Logistic regression over one feature.
class ComputeThreadTest : public testing::Test {
 protected:
  ComputeThreadTest() {
    job_.set_partition_count(1);
    EXPECT_EQ(LayOutModel(job_), absl::OkStatus());
    map_ = std::make_unique<ParameterMap>(*ParameterMap::Create(job_));
    pool_ = std::make_unique<StepPool>(*map_, TablesOfFeatures(job_));
  }

  void Begin(absl::Duration min_step) {
    thread_.emplace(*Network::Create(job_), ComputeOptions{.clip_norm = 0, .min_step = min_step},
                    loop_);
  }
  // A step of two examples, all of whose parameters are 0.
  std::shared_ptr<Step> NewStep() {
    auto batch = std::make_shared<Batch>();
    batch->labels = {1, 0};
    batch->offsets = {0, 0, 0};
    batch->features = {{.offsets = {0, 1, 2}, .keys = {7, 8}, .weights = {}},
                       {.offsets = {0, 1, 2}, .keys = {5, 6}, .weights = {}},
                       {.offsets = {0, 2, 2}, .keys = {5, 9}, .weights = {1, 3}},
                       {.offsets = {0, 0, 2}, .keys = {6, 6}, .weights = {}}};
    std::shared_ptr<Step> step = pool_->Take(std::move(batch), std::vector<uint32_t>(1, 0));
    pool_->Lend(*step, Timeline{1});
    return step;
  }
  void Submit(std::shared_ptr<Step> step, int number,
              Computer::Kind kind = Computer::Kind::kGradients) {
    thread_->Submit(std::move(step), kind, [this, number] { done_.push_back(number); });
  }
  void UntilDone(size_t steps) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (done_.size() < steps) {
      ASSERT_LT(absl::Now(), deadline);
      loop_.Poll(absl::Milliseconds(10));
    }
  }

  v1::JobSpec job_ = SpecOfFeatures("lr", 0, 0, 0);
  std::unique_ptr<ParameterMap> map_;
  std::unique_ptr<StepPool> pool_;
  EventLoop loop_;
  std::vector<int> done_;
  std::optional<ComputeThread> thread_;
};

TEST_F(ComputeThreadTest, StepsAreComputedInTheirOrderAndEndOnTheLoop) {
  Begin(absl::ZeroDuration());
  const std::shared_ptr<Step> first = NewStep();
  const std::shared_ptr<Step> second = NewStep();
  Submit(first, 1);
  Submit(second, 2);
  EXPECT_THAT(done_, IsEmpty()) << "the loop has not been polled";
  UntilDone(2);
  EXPECT_THAT(done_, ElementsAre(1, 2));
  EXPECT_NEAR(first->loss_sum, 2 * std::log(2), 1e-6);
  EXPECT_NEAR(second->loss_sum, 2 * std::log(2), 1e-6);
  EXPECT_LE(first->marks.compute_began, second->marks.idle_from) << "it stood after the first";
  EXPECT_LE(second->marks.idle_from, second->marks.compute_began);
}

TEST_F(ComputeThreadTest, AnEvaluationHasLogitsAndNoGradients) {
  Begin(absl::ZeroDuration());
  const std::shared_ptr<Step> step = NewStep();
  Submit(step, 1, Computer::Kind::kLogits);
  UntilDone(1);
  EXPECT_THAT(step->logits, ElementsAre(0, 0));
  EXPECT_EQ(step->loss_sum, 0);
}

TEST_F(ComputeThreadTest, AStepTakesAtLeastAsLongAsItIsToTake) {
  Begin(kMinStep);
  const std::shared_ptr<Step> step = NewStep();
  Submit(step, 1);
  UntilDone(1);
  EXPECT_GE(step->compute_time, kMinStep);
}

TEST_F(ComputeThreadTest, ItsEndDropsTheStepsThatWaitWithWhatTheyHold) {
  Begin(kMinStep);
  std::vector<std::weak_ptr<Step>> steps;
  for (int number = 1; number <= 10; ++number) {
    std::shared_ptr<Step> step = NewStep();
    steps.push_back(step);
    Submit(std::move(step), number);
  }
  thread_.reset();
  while (loop_.Poll(absl::Milliseconds(200))) continue;
  EXPECT_LT(done_.size(), 10u);
  for (const std::weak_ptr<Step>& step : steps) EXPECT_TRUE(step.expired());
}

}  // namespace
}  // namespace capstan::worker
