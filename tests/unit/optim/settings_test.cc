#include <limits>

#include "capstan/optim/optimizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/optim/specs.h"

namespace capstan {
namespace {

void ExpectRefused(const v1::OptimizerSpec& spec, const std::string& named) {
  const absl::Status status = MakeOptimizer(spec).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(named));
}

TEST(MakeOptimizerTest, RefusesAnUnknownKind) { ExpectRefused(v1::OptimizerSpec(), "kind 0"); }

TEST(MakeOptimizerTest, RefusesImpossibleNumbersAndNamesThem) {
  v1::OptimizerSpec spec = PlainSpec(v1::OPTIMIZER_KIND_ADAM);
  spec.set_beta1(1);
  ExpectRefused(spec, "beta1");
  spec = PlainSpec(v1::OPTIMIZER_KIND_SGD);
  spec.set_learning_rate(-1);
  ExpectRefused(spec, "learning_rate");
  spec.set_learning_rate(std::numeric_limits<float>::quiet_NaN());
  ExpectRefused(spec, "learning_rate");
  spec = PlainSpec(v1::OPTIMIZER_KIND_RMSPROP);
  spec.set_decay(-0.1f);
  ExpectRefused(spec, "decay");
  spec = PlainSpec(v1::OPTIMIZER_KIND_MOMENTUM);
  spec.set_momentum(1.5f);
  ExpectRefused(spec, "momentum");
  spec.set_clip_value(-1);
  ExpectRefused(spec, "clip_value");
}

TEST(MakeOptimizerTest, RefusesADivisorThatMayBeZero) {
  v1::OptimizerSpec spec = PlainSpec(v1::OPTIMIZER_KIND_ADAGRAD);
  spec.set_epsilon(0);
  EXPECT_TRUE(MakeOptimizer(spec).ok());
  spec.set_initial_accumulator(0);
  ExpectRefused(spec, "epsilon");
}

TEST(MakeOptimizerTest, RefusesWhatFtrlCannotDo) {
  v1::OptimizerSpec spec = PlainSpec(v1::OPTIMIZER_KIND_FTRL);
  spec.set_learning_rate_power(-0.4f);
  ExpectRefused(spec, "learning_rate_power");
  spec = PlainSpec(v1::OPTIMIZER_KIND_FTRL);
  spec.mutable_schedule()->set_warmup_examples(10);
  ExpectRefused(spec, "schedule");
}

TEST(MakeOptimizerTest, RefusesAnImpossibleSchedule) {
  v1::OptimizerSpec spec = PlainSpec(v1::OPTIMIZER_KIND_SGD);
  spec.mutable_schedule()->set_kind(v1::SCHEDULE_KIND_STEP);
  ExpectRefused(spec, "decay_examples");
}

}  // namespace
}  // namespace capstan
