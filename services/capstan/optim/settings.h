// Settings that several kinds of optimizers have in common, and checks of settings.
#ifndef CAPSTAN_OPTIM_SETTINGS_H_
#define CAPSTAN_OPTIM_SETTINGS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "capstan/optim/optimizer_description.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// The default values of the settings that every kind with a name has.
struct CommonSettings {
  double learning_rate = 0.01;
  double weight_decay = 0;
};

// Returns the common settings (learning_rate, weight_decay, clip_value), followed by `own`.
std::vector<OptimizerSetting> SettingsOf(const CommonSettings& common,
                                         std::vector<OptimizerSetting> own);

OptimizerSetting Epsilon(double default_value);
OptimizerSetting InitialAccumulator();
// Returns a setting whose value must be at least 0 and less than 1.
OptimizerSetting Fraction(absl::string_view key, double default_value,
                          float (v1::OptimizerSpec::*get)() const,
                          void (v1::OptimizerSpec::*set)(float));

// Returns INVALID_ARGUMENT, "optimizer: <setting> is <value>, expected <expected>".
absl::Status RefuseSetting(absl::string_view setting, float value, absl::string_view expected);
absl::Status CheckNotNegative(absl::string_view setting, float value);
absl::Status CheckFraction(absl::string_view setting, float value);
// Refuses an epsilon of 0, unless the root to which it is added contains an initial accumulator:
// otherwise a weight without any gradient so far would become 0 / 0.
absl::Status CheckDivisor(const v1::OptimizerSpec& spec, float accumulator);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_SETTINGS_H_
