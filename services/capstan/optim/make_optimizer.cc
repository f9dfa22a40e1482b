#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/optim/optimizer.h"
#include "capstan/optim/optimizer_description.h"
#include "capstan/optim/schedule.h"
#include "capstan/optim/settings.h"

namespace capstan {
namespace {

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
  const OptimizerDescription* const description = FindOptimizer(spec.kind());
  if (description == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("optimizer: kind ", static_cast<int>(spec.kind()), " is unknown"));
  }
  if (description->check != nullptr) CAPSTAN_RETURN_IF_ERROR(description->check(spec));
  return description->make(spec);
}

}  // namespace capstan
