#include "capstan/optim/settings.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace capstan {

using Spec = v1::OptimizerSpec;

std::vector<OptimizerSetting> SettingsOf(const CommonSettings& common,
                                         std::vector<OptimizerSetting> own) {
  std::vector<OptimizerSetting> all = {
      {.key = "learning_rate",
       .default_value = common.learning_rate,
       .max = 1e6,
       .open = true,
       .get = &Spec::learning_rate,
       .set = &Spec::set_learning_rate},
      {.key = "weight_decay",
       .default_value = common.weight_decay,
       .max = 1,
       .get = &Spec::weight_decay,
       .set = &Spec::set_weight_decay},
      {.key = "clip_value", .open = true, .get = &Spec::clip_value, .set = &Spec::set_clip_value}};
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

OptimizerSetting Epsilon(double default_value) {
  return {.key = "epsilon",
          .default_value = default_value,
          .max = 1,
          .open = true,
          .get = &Spec::epsilon,
          .set = &Spec::set_epsilon};
}

OptimizerSetting InitialAccumulator() {
  return {.key = "initial_accumulator",
          .default_value = 0.1,
          .get = &Spec::initial_accumulator,
          .set = &Spec::set_initial_accumulator};
}

OptimizerSetting Fraction(absl::string_view key, double default_value, float (Spec::*get)() const,
                          void (Spec::*set)(float)) {
  // A number closer to 1 might become 1 as a float.
  return {.key = key, .default_value = default_value, .max = 0.9999999, .get = get, .set = set};
}

absl::Status RefuseSetting(absl::string_view setting, float value, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("optimizer: ", setting, " is ", value, ", expected ", expected));
}

absl::Status CheckNotNegative(absl::string_view setting, float value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return RefuseSetting(setting, value, "a number >= 0");
}

absl::Status CheckFraction(absl::string_view setting, float value) {
  if (value >= 0 && value < 1) return absl::OkStatus();
  return RefuseSetting(setting, value, "a number in [0, 1)");
}

absl::Status CheckDivisor(const Spec& spec, float accumulator) {
  if (spec.epsilon() > 0 || accumulator > 0) return absl::OkStatus();
  return RefuseSetting("epsilon", spec.epsilon(), "a number > 0");
}

}  // namespace capstan
