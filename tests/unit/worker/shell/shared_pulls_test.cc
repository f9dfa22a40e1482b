#include "worker/shell/shared_pulls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capstan/model/layout.h"

namespace capstan::worker {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Timeline kOnly{1};
constexpr SharedPulls::Name kRoundSeven{kOnly, 7, ShardIndex{0}, false};

v1::JobSpec JobOfAFrozenAndATrainedTensor() {
  v1::JobSpec job;
  job.set_partition_count(2);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  for (const auto& [name, role] :
       {std::pair("a", v1::TENSOR_ROLE_FROZEN), std::pair("b", v1::TENSOR_ROLE_UNSPECIFIED)}) {
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name(name);
    tensor.add_shape(100);
    tensor.set_role(role);
  }
  return job;
}

class SharedPullsTest : public testing::Test {
 protected:
  // A step whose parameters are all `value`.
  std::shared_ptr<Step> StepOf(float value, uint64_t version) {
    auto batch = std::make_shared<Batch>();
    batch->offsets = {0};
    std::shared_ptr<Step> step = pool_.Take(std::move(batch), owners_);
    pool_.Lend(*step, kOnly);
    step->parameters.assign(step->parameters.size(), value);
    for (auto& versions : step->versions) versions = {version, version};
    return step;
  }
  std::unique_ptr<SharedPulls::Part> Join(std::shared_ptr<Step> step, const std::string& who,
                                          const SharedPulls::Name& name = kRoundSeven) {
    return pulls_.Join(name, std::move(step), [this, who](const PullResult& result) {
      told_.push_back(who + (result.status.ok() ? "" : " failed"));
    });
  }
  void Poll() {
    while (loop_.Poll(absl::ZeroDuration())) {
    }
  }

  const ParameterMap map_ = *ParameterMap::Create(JobOfAFrozenAndATrainedTensor());
  const std::vector<uint32_t> owners_ = {0, 0};
  StepPool pool_{map_};
  EventLoop loop_;
  SharedPulls pulls_{loop_};
  std::vector<std::string> told_;
};

TEST_F(SharedPullsTest, WhatOneLanePullsIsCopiedForThoseThatAskMeanwhile) {
  const std::shared_ptr<Step> leader = StepOf(5, 42);
  const std::shared_ptr<Step> second = StepOf(0, 0), third = StepOf(0, 0);
  EXPECT_EQ(Join(second, "too early"), nullptr);
  const std::shared_ptr<SharedPulls::Pull> pull = pulls_.Begin(kRoundSeven, leader);
  const auto of_second = Join(second, "second"), of_third = Join(third, "third");
  ASSERT_NE(of_second, nullptr);
  pull->Complete({});
  leader->parameters.assign(200, 9);  // As a program may that computes with it.
  EXPECT_THAT(told_, IsEmpty()) << "the leader, which is the lowest lane, goes on first";
  Poll();
  EXPECT_THAT(told_, ElementsAre("second", "third"));
  for (const auto& step : {second, third}) {
    EXPECT_THAT(std::vector<float>(step->parameters.begin() + 100, step->parameters.end()),
                Each(5));
    EXPECT_THAT(step->versions, Contains(std::array<uint64_t, kParts>{42, 42}));
  }
  EXPECT_EQ(Join(third, "too late"), nullptr);
}

TEST_F(SharedPullsTest, TensorsThatNeverChangeAreCopiedOnlyIfTheyWerePulled) {
  for (const bool frozen : {false, true}) {
    const SharedPulls::Name name{kOnly, 7, ShardIndex{0}, frozen};
    const std::shared_ptr<Step> other = StepOf(0, 0);
    const std::shared_ptr<SharedPulls::Pull> pull = pulls_.Begin(name, StepOf(5, 1));
    const auto part = Join(other, "other", name);
    ASSERT_NE(part, nullptr);
    pull->Complete({});
    EXPECT_EQ(other->parameters[0], frozen ? 5 : 0);
    EXPECT_EQ(other->parameters[100], 5);
  }
}

TEST_F(SharedPullsTest, OtherRoundsShardsAndTimelinesArePulledByThemselves) {
  const std::shared_ptr<SharedPulls::Pull> pull = pulls_.Begin(kRoundSeven, StepOf(5, 1));
  for (const SharedPulls::Name& name : {SharedPulls::Name{Timeline{2}, 7, ShardIndex{0}, false},
                                        SharedPulls::Name{kOnly, 8, ShardIndex{0}, false},
                                        SharedPulls::Name{kOnly, 7, ShardIndex{1}, false},
                                        SharedPulls::Name{kOnly, 7, ShardIndex{0}, true}}) {
    EXPECT_EQ(Join(StepOf(0, 0), "other", name), nullptr);
  }
}

TEST_F(SharedPullsTest, AFailureIsToldToAllAndNothingIsCopied) {
  const std::shared_ptr<Step> other = StepOf(0, 0);
  const std::shared_ptr<SharedPulls::Pull> pull = pulls_.Begin(kRoundSeven, StepOf(5, 1));
  const auto part = Join(other, "other");
  pull->Complete({.status = absl::UnavailableError("away")});
  Poll();
  EXPECT_THAT(told_, ElementsAre("other failed"));
  EXPECT_THAT(other->parameters, Each(0));
}

TEST_F(SharedPullsTest, WhoWaitsForAPullThatIsGivenUpIsTold) {
  std::shared_ptr<SharedPulls::Pull> pull = pulls_.Begin(kRoundSeven, StepOf(5, 1));
  const auto part = Join(StepOf(0, 0), "other");
  pull.reset();
  Poll();
  EXPECT_THAT(told_, ElementsAre("other failed"));
  EXPECT_EQ(Join(StepOf(0, 0), "other"), nullptr) << "it pulls by itself";
}

TEST_F(SharedPullsTest, WhoHasLeftIsWrittenToNoMoreAndHearsNothing) {
  const std::shared_ptr<Step> other = StepOf(0, 0), late = StepOf(0, 0);
  const std::shared_ptr<SharedPulls::Pull> pull = pulls_.Begin(kRoundSeven, StepOf(5, 1));
  auto part = Join(other, "other"), later = Join(late, "late");
  part.reset();
  EXPECT_EQ(other.use_count(), 1) << "its memory is free at once";
  pull->Complete({});
  later.reset();
  Poll();
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_THAT(other->parameters, Each(0));
}

TEST(LanesPullTheSameTest, NotWhereBatchesHaveRowsOrParametersAreNotOfARound) {
  v1::JobSpec job = JobOfAFrozenAndATrainedTensor();
  EXPECT_TRUE(LanesPullTheSame(job));
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  EXPECT_FALSE(LanesPullTheSame(job));
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  job.add_tables();
  EXPECT_FALSE(LanesPullTheSame(job));
}

}  // namespace
}  // namespace capstan::worker
