// optimizer: what belongs to which kind, and what a group inherits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/config/config.h"
#include "capstan/optim/optimizer_description.h"
#include "tests/unit/config/refusals.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

std::string WithOptimizer(const std::string& optimizer) {
  return capstan::Job(absl::StrCat("optimizer: {", optimizer, "}\n"));
}

v1::JobSpec Optimized(const std::string& optimizer) {
  const auto job = ParseJob({.text = WithOptimizer(optimizer)});
  EXPECT_TRUE(job.ok()) << job.status();
  return job.value_or(v1::JobSpec());
}

TEST(ReadOptimizerTest, EveryKindIsReadWithItsOwnDefaults) {
  for (const OptimizerDescription& kind : OptimizerDescriptions()) {
    if (kind.name.empty()) continue;
    const std::string name(kind.name);
    const v1::OptimizerSpec read = Optimized("sparse: {kind: " + name + "}").sparse_optimizer();
    EXPECT_EQ(read.kind(), kind.kind) << name;
    for (const OptimizerSetting& setting : kind.settings) {
      EXPECT_EQ((read.*setting.get)(), static_cast<float>(setting.default_value))
          << name << " " << setting.key;
    }
    EXPECT_TRUE(MakeOptimizer(read).ok()) << name << " can be made of its defaults";
  }
}

TEST(ReadOptimizerTest, ASettingOfAnotherKindIsRefusedAlsoIfItIsItsDefault) {
  EXPECT_THAT(Refusal(WithOptimizer("dense: {kind: sgd, beta1: 0.9}")),
              HasSubstr("optimizer.dense.beta1: is not a setting of sgd"));
  EXPECT_THAT(Refusal(WithOptimizer("dense: {kind: adam, nesterov: false}")),
              HasSubstr("optimizer.dense.nesterov: is not a setting of adam"));
  EXPECT_THAT(Refusal(WithOptimizer("sparse: {kind: ftrl, schedule: {kind: constant}}")),
              HasSubstr("optimizer.sparse.schedule: is not a setting of ftrl"));
}

TEST(ReadOptimizerTest, AScheduleHasWhatItsKindNeedsAndNothingElse) {
  const auto refusal = [](const std::string& schedule) {
    return Refusal(WithOptimizer("dense: {schedule: {" + schedule + "}}"));
  };
  const std::string nothing = ": means nothing to this kind of schedule";
  EXPECT_THAT(refusal("kind: cosine, decay_examples: 5, decay_rate: 0.5"),
              HasSubstr("schedule.decay_rate" + nothing));
  EXPECT_THAT(refusal("floor: 0.1"), HasSubstr("schedule.floor" + nothing));
  EXPECT_THAT(refusal("kind: exponential, decay_examples: 5"),
              HasSubstr("schedule.decay_rate: is missing"));
  const v1::ScheduleSpec warm =
      Optimized("dense: {schedule: {warmup_examples: 10k}}").dense_optimizer().schedule();
  EXPECT_EQ(warm.kind(), v1::SCHEDULE_KIND_UNSPECIFIED);
  EXPECT_EQ(warm.warmup_examples(), 10'000u) << "a constant rate may warm up";
  const v1::ScheduleSpec step =
      Optimized("dense: {schedule: {kind: step, decay_examples: 5, decay_rate: 0.5, floor: 0.1}}")
          .dense_optimizer()
          .schedule();
  EXPECT_EQ(step.decay_rate(), 0.5);
  EXPECT_NEAR(step.floor(), 0.1, 1e-7);
}

TEST(ReadOptimizerTest, FtrlHasThePowerThatItsRuleHas) {
  EXPECT_EQ(Optimized("sparse: {kind: ftrl}").sparse_optimizer().learning_rate_power(), -0.5f);
  EXPECT_EQ(Optimized("sparse: {kind: adam}").sparse_optimizer().learning_rate_power(), 0);
}

TEST(ReadOptimizerTest, AGroupOfAnotherKindInheritsNothing) {
  const v1::JobSpec job = Optimized(
      "dense: {kind: sgd, learning_rate: 0.5, clip_value: 3, schedule: {kind: cosine, "
      "decay_examples: 9}, groups: [{match: w, kind: adam}, {match: b, clip_value: 4}]}");
  ASSERT_EQ(job.dense_groups_size(), 2);
  const v1::OptimizerSpec& adam = job.dense_groups(0).optimizer();
  EXPECT_FLOAT_EQ(adam.learning_rate(), 0.001f);
  EXPECT_EQ(adam.clip_value(), 0);
  EXPECT_EQ(adam.schedule().kind(), v1::SCHEDULE_KIND_UNSPECIFIED);
  const v1::OptimizerSpec& sgd = job.dense_groups(1).optimizer();
  EXPECT_EQ(sgd.learning_rate(), 0.5f);
  EXPECT_EQ(sgd.clip_value(), 4);
  EXPECT_EQ(sgd.schedule().kind(), v1::SCHEDULE_KIND_COSINE);
}

}  // namespace
}  // namespace capstan
