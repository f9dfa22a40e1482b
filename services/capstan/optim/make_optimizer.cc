#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/base/status.h"
#include "capstan/optim/adagrad.h"
#include "capstan/optim/adam.h"
#include "capstan/optim/ftrl.h"
#include "capstan/optim/momentum.h"
#include "capstan/optim/optimizer.h"
#include "capstan/optim/rmsprop.h"
#include "capstan/optim/rowwise_adagrad.h"
#include "capstan/optim/running.h"
#include "capstan/optim/schedule.h"
#include "capstan/optim/sgd.h"

namespace capstan {
namespace {

absl::Status Refuse(absl::string_view setting, float value, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("optimizer: ", setting, " is ", value, ", expected ", expected));
}

absl::Status CheckNotNegative(absl::string_view setting, float value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return Refuse(setting, value, "a number >= 0");
}

absl::Status CheckFraction(absl::string_view setting, float value) {
  if (value >= 0 && value < 1) return absl::OkStatus();
  return Refuse(setting, value, "a number in [0, 1)");
}

// A weight that has had no gradient yet would otherwise become 0 / 0.
absl::Status CheckDivisor(const v1::OptimizerSpec& spec, float accumulator) {
  if (spec.epsilon() > 0 || accumulator > 0) return absl::OkStatus();
  return Refuse("epsilon", spec.epsilon(), "a number > 0");
}

absl::Status CheckAdam(const v1::OptimizerSpec& spec) {
  CAPSTAN_RETURN_IF_ERROR(CheckFraction("beta1", spec.beta1()));
  CAPSTAN_RETURN_IF_ERROR(CheckFraction("beta2", spec.beta2()));
  return CheckDivisor(spec, /*accumulator=*/0);
}

absl::Status CheckRmsprop(const v1::OptimizerSpec& spec) {
  CAPSTAN_RETURN_IF_ERROR(CheckFraction("decay", spec.decay()));
  return CheckDivisor(spec, /*accumulator=*/0);
}

// The per-weight rate of FTRL is part of its state: it cannot follow a schedule.
absl::Status CheckFtrl(const v1::OptimizerSpec& spec) {
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("l1", spec.l1()));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("l2", spec.l2()));
  if (!(spec.learning_rate() > 0)) {
    return Refuse("learning_rate", spec.learning_rate(), "a number > 0");
  }
  if (spec.learning_rate_power() != -0.5f) {
    return Refuse("learning_rate_power", spec.learning_rate_power(), "-0.5");
  }
  if (spec.schedule().kind() != v1::SCHEDULE_KIND_UNSPECIFIED ||
      spec.schedule().warmup_examples() != 0) {
    return absl::InvalidArgumentError("optimizer: ftrl cannot follow a learning-rate schedule");
  }
  return absl::OkStatus();
}

absl::Status CheckCommon(const v1::OptimizerSpec& spec) {
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("learning_rate", spec.learning_rate()));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("epsilon", spec.epsilon()));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("initial_accumulator", spec.initial_accumulator()));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("weight_decay", spec.weight_decay()));
  CAPSTAN_RETURN_IF_ERROR(CheckNotNegative("clip_value", spec.clip_value()));
  return CheckSchedule(spec.schedule());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(const v1::OptimizerSpec& spec) {
  CAPSTAN_RETURN_IF_ERROR(CheckCommon(spec));
  switch (spec.kind()) {
    case v1::OPTIMIZER_KIND_SGD:
      return MakeSgd(spec);
    case v1::OPTIMIZER_KIND_MOMENTUM:
      CAPSTAN_RETURN_IF_ERROR(CheckFraction("momentum", spec.momentum()));
      return MakeMomentum(spec);
    case v1::OPTIMIZER_KIND_ADAGRAD:
      CAPSTAN_RETURN_IF_ERROR(CheckDivisor(spec, spec.initial_accumulator()));
      return MakeAdagrad(spec);
    case v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD:
      CAPSTAN_RETURN_IF_ERROR(CheckDivisor(spec, spec.initial_accumulator()));
      return MakeRowwiseAdagrad(spec);
    case v1::OPTIMIZER_KIND_ADAM:
    case v1::OPTIMIZER_KIND_ADAMW:
      CAPSTAN_RETURN_IF_ERROR(CheckAdam(spec));
      return MakeAdam(spec);
    case v1::OPTIMIZER_KIND_RMSPROP:
      CAPSTAN_RETURN_IF_ERROR(CheckRmsprop(spec));
      return MakeRmsprop(spec);
    case v1::OPTIMIZER_KIND_FTRL:
      CAPSTAN_RETURN_IF_ERROR(CheckFtrl(spec));
      return MakeFtrl(spec);
    case v1::OPTIMIZER_KIND_RUNNING:
      return MakeRunning();
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("optimizer: kind ", static_cast<int>(spec.kind()), " is unknown"));
  }
}

}  // namespace capstan
