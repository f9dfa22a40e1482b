// Settings that several kinds of optimizers have, and checks of settings.
#ifndef CAPSTAN_OPTIM_SETTINGS_H_
#define CAPSTAN_OPTIM_SETTINGS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "capstan/optim/optimizer_description.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Those of every kind that a job asks for by name, by their default values.
struct CommonSettings {
  double learning_rate = 0.01;
  double weight_decay = 0;
};

// The common settings (learning_rate, weight_decay, clip_value) and those of a kind.
std::vector<OptimizerSetting> SettingsOf(const CommonSettings& common,
                                         std::vector<OptimizerSetting> own);

OptimizerSetting Epsilon(double default_value);
OptimizerSetting InitialAccumulator();
// A number from 0 to less than 1.
OptimizerSetting Fraction(absl::string_view key, double default_value,
                          float (v1::OptimizerSpec::*get)() const,
                          void (v1::OptimizerSpec::*set)(float));

// INVALID_ARGUMENT: "optimizer: <setting> is <value>, expected <expected>".
absl::Status RefuseSetting(absl::string_view setting, float value, absl::string_view expected);
absl::Status CheckNotNegative(absl::string_view setting, float value);
absl::Status CheckFraction(absl::string_view setting, float value);
// Refuses an epsilon of 0, unless the root that it is added to begins with an accumulator: a weight
// that has had no gradient yet would become 0 / 0.
absl::Status CheckDivisor(const v1::OptimizerSpec& spec, float accumulator);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_SETTINGS_H_
