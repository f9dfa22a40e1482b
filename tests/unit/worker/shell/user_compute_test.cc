#include "worker/shell/user_compute.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace capstan::worker {
namespace {

// A tensor of 10 floats, one partition.
ParameterMap SmallMap() {
  v1::JobSpec job;
  job.set_partition_count(1);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(10);
  return *ParameterMap::Create(job);
}

class UserComputeTest : public testing::Test {
 protected:
  std::shared_ptr<Step> NewStep(uint64_t seq) {
    auto batch = std::make_shared<Batch>();
    batch->offsets = {0};
    std::shared_ptr<Step> step = pool_->Take(std::move(batch), owners_);
    pool_->Lend(*step, Timeline{1});
    step->seq = seq;
    return step;
  }
  void Submit(uint64_t seq, Computer::Kind kind = Computer::Kind::kGradients) {
    std::shared_ptr<Step> step = NewStep(seq);
    computer_->Submit(step, kind, [this, seq] { done_.push_back(seq); });
  }
  std::optional<UserSteps::Taken> Take() { return steps_.Take(absl::ZeroDuration()); }
  // Polls until `count` continuations have run.
  void PollUntilDone(size_t count) {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (done_.size() < count && absl::Now() < deadline) loop_.Poll(absl::Milliseconds(50));
  }

  const ParameterMap map_ = SmallMap();
  const std::vector<uint32_t> owners_ = {0};
  std::unique_ptr<StepPool> pool_ = std::make_unique<StepPool>(map_);
  EventLoop loop_;
  const SteadyClock clock_{};
  UserSteps steps_{clock_};
  std::unique_ptr<UserCompute> computer_ =
      std::make_unique<UserCompute>(steps_, loop_, /*compensates=*/false);
  std::vector<uint64_t> done_;
};

TEST_F(UserComputeTest, StepsComeInTheirOrderAndAreDoneOnTheLoop) {
  Submit(1);
  Submit(2, Computer::Kind::kLogits);
  std::optional<UserSteps::Taken> first = Take(), second = Take();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->step->seq, 1u);
  EXPECT_EQ(second->kind, Computer::Kind::kLogits);
  EXPECT_FALSE(Take());
  std::thread program([&] {
    steps_.Finish(*std::move(first));
    steps_.Finish(*std::move(second));
  });
  program.join();
  EXPECT_TRUE(done_.empty()) << "only where the loop polls";
  PollUntilDone(2);
  EXPECT_EQ(done_, (std::vector<uint64_t>{1, 2}));
}

TEST_F(UserComputeTest, WhatWritesTheResultsRunsOnTheLoopBeforeTheLeaseHearsOfThem) {
  Submit(1);
  std::optional<UserSteps::Taken> taken = Take();
  const std::shared_ptr<Step> step = taken->step;
  steps_.Finish(*std::move(taken), [&] {
    EXPECT_TRUE(done_.empty());
    step->loss_sum = 5;
  });
  EXPECT_EQ(step->loss_sum, 0);
  PollUntilDone(1);
  EXPECT_EQ(step->loss_sum, 5);
}

TEST_F(UserComputeTest, WhatWritesTheResultsIsDroppedWhereNobodyWantsThem) {
  Submit(1);
  Submit(2);
  std::optional<UserSteps::Taken> failed = Take(), gone = Take();
  EXPECT_TRUE(steps_.Fail(*failed, {}, [] {}));
  const auto held = std::make_shared<int>();
  steps_.Finish(*std::move(failed), [held] { FAIL() << "it has come back before"; });
  computer_.reset();
  steps_.Finish(*std::move(gone), [held] { FAIL() << "its lease is gone"; });
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(UserComputeTest, WhoeverWaitsForAStepGetsItAsSoonAsItIsThere) {
  std::optional<UserSteps::Taken> taken;
  std::thread program([&] { taken = steps_.Take(absl::Seconds(30)); });
  Submit(7);
  program.join();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->step->seq, 7u);
}

TEST_F(UserComputeTest, AFailureReachesTheLeaseBeforeWhatComesThen) {
  Submit(3);
  std::optional<UserSteps::Taken> taken = Take();
  const std::shared_ptr<Step> step = taken->step;
  v1::UserCodeError error;
  error.set_place("deepfm.py:31");
  EXPECT_FALSE(steps_.failed());
  EXPECT_TRUE(steps_.Fail(*taken, error, [this] { done_.push_back(99); }));
  EXPECT_TRUE(steps_.failed()) << "who drains need not wait for steps that nobody computes";
  EXPECT_FALSE(steps_.Fail(*taken, error, [this] { done_.push_back(100); })) << "it has come back";
  PollUntilDone(2);
  EXPECT_EQ(done_, (std::vector<uint64_t>{3, 99}));
  ASSERT_TRUE(step->user_code.has_value());
  EXPECT_EQ(step->user_code->place(), "deepfm.py:31");
}

TEST_F(UserComputeTest, AFailureOfALeaseThatIsGoneIsStillFollowedByWhatComesThen) {
  Submit(3);
  std::optional<UserSteps::Taken> taken = Take();
  computer_.reset();
  steps_.Fail(*taken, {}, [this] { done_.push_back(99); });
  PollUntilDone(1);
  EXPECT_EQ(done_, (std::vector<uint64_t>{99}));
}

TEST_F(UserComputeTest, ATrainerThatIsGoneTakesItsStepsAlongAndHearsOfNone) {
  UserCompute other(steps_, loop_, /*compensates=*/false);
  Submit(1);
  Submit(2);
  other.Submit(NewStep(5), Computer::Kind::kGradients, [this] { done_.push_back(5); });
  std::optional<UserSteps::Taken> taken = Take();
  computer_.reset();
  steps_.Finish(*std::move(taken));
  std::optional<UserSteps::Taken> next = Take();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->step->seq, 5u);
  steps_.Finish(*std::move(next));
  PollUntilDone(1);
  EXPECT_EQ(done_, (std::vector<uint64_t>{5}));
}

TEST_F(UserComputeTest, MemoryOfAStepIsValidUntilTheProgramLetsGoOfIt) {
  Submit(1);
  std::optional<UserSteps::Taken> taken = Take();
  std::shared_ptr<Step> kept = taken->step;
  kept->parameters[9] = 4;
  steps_.Finish(*std::move(taken));
  PollUntilDone(1);
  computer_.reset();
  pool_.reset();
  EXPECT_EQ(kept->parameters[9], 4);
  std::thread([step = std::move(kept)]() mutable { step.reset(); }).join();
}

TEST_F(UserComputeTest, WhereGradientsAreCompensatedAStepKeepsWhatWasPulledAndIsTrained) {
  UserCompute compensates(steps_, loop_, /*compensates=*/true);
  const std::shared_ptr<Step> trained = NewStep(1), evaluated = NewStep(2), plain = NewStep(3);
  trained->parameters[9] = 4;
  compensates.Submit(trained, Computer::Kind::kGradients, [] {});
  compensates.Submit(evaluated, Computer::Kind::kLogits, [] {});
  computer_->Submit(plain, Computer::Kind::kGradients, [] {});
  trained->parameters[9] = 1;  // As a program does that bounds a parameter in place.
  ASSERT_TRUE(trained->keeps_pulled);
  EXPECT_EQ(trained->kept_parameters[9], 4);
  EXPECT_FALSE(evaluated->keeps_pulled);
  EXPECT_FALSE(plain->keeps_pulled);
}

TEST_F(UserComputeTest, NothingComesOnceItIsClosed) {
  Submit(1);
  steps_.Close();
  EXPECT_FALSE(Take());
  EXPECT_TRUE(steps_.closed());
}

}  // namespace
}  // namespace capstan::worker
