#include "capstan/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

double DecayFactor(const v1::ScheduleSpec& schedule, uint64_t examples) {
  const double decays = static_cast<double>(examples) / schedule.decay_examples();
  const double floor = schedule.floor();
  switch (schedule.kind()) {
    case v1::SCHEDULE_KIND_STEP:
      return std::pow(schedule.decay_rate(), std::floor(decays));
    case v1::SCHEDULE_KIND_EXPONENTIAL:
      return std::pow(schedule.decay_rate(), decays);
    case v1::SCHEDULE_KIND_COSINE:
      return floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * std::min(decays, 1.0)));
    default:
      return 1;
  }
}

}  // namespace

absl::Status CheckSchedule(const v1::ScheduleSpec& schedule) {
  if (!(schedule.floor() >= 0 && schedule.floor() <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule: floor is ", schedule.floor(), ", not between 0 and 1"));
  }
  if (schedule.kind() == v1::SCHEDULE_KIND_UNSPECIFIED) return absl::OkStatus();
  if (!v1::ScheduleKind_IsValid(schedule.kind())) {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule: kind ", static_cast<int>(schedule.kind()), " is unknown"));
  }
  if (schedule.decay_examples() == 0) {
    return absl::InvalidArgumentError("schedule: decay_examples is 0");
  }
  if (schedule.kind() == v1::SCHEDULE_KIND_COSINE) return absl::OkStatus();
  if (!(schedule.decay_rate() > 0 && schedule.decay_rate() <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule: decay_rate is ", schedule.decay_rate(), ", not in (0, 1]"));
  }
  return absl::OkStatus();
}

double ScheduleFactor(const v1::ScheduleSpec& schedule, uint64_t examples) {
  const uint64_t warmup = schedule.warmup_examples();
  if (examples < warmup) return static_cast<double>(examples) / static_cast<double>(warmup);
  return std::max<double>(schedule.floor(), DecayFactor(schedule, examples - warmup));
}

bool IsConstant(const v1::ScheduleSpec& schedule) {
  return schedule.kind() == v1::SCHEDULE_KIND_UNSPECIFIED && schedule.warmup_examples() == 0;
}

float LearningRate(const v1::OptimizerSpec& spec, uint64_t examples) {
  return static_cast<float>(spec.learning_rate() * ScheduleFactor(spec.schedule(), examples));
}

}  // namespace capstan
