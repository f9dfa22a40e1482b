#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/config/sections.h"

namespace capstan {
namespace {

constexpr Choice<v1::OptimizerKind> kKinds[] = {
    {"sgd", v1::OPTIMIZER_KIND_SGD},
    {"momentum", v1::OPTIMIZER_KIND_MOMENTUM},
    {"adagrad", v1::OPTIMIZER_KIND_ADAGRAD},
    {"rowwise_adagrad", v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD},
    {"adam", v1::OPTIMIZER_KIND_ADAM},
    {"adamw", v1::OPTIMIZER_KIND_ADAMW},
    {"rmsprop", v1::OPTIMIZER_KIND_RMSPROP},
    {"ftrl", v1::OPTIMIZER_KIND_FTRL},
};

constexpr Choice<v1::ScheduleKind> kSchedules[] = {
    {"constant", v1::SCHEDULE_KIND_UNSPECIFIED},
    {"step", v1::SCHEDULE_KIND_STEP},
    {"cosine", v1::SCHEDULE_KIND_COSINE},
    {"exponential", v1::SCHEDULE_KIND_EXPONENTIAL},
};

constexpr NumberRange kFraction = {.min = 0, .max = 0.9999999};

absl::string_view NameOf(v1::OptimizerKind kind) {
  for (const auto& choice : kKinds) {
    if (choice.value == kind) return choice.name;
  }
  return "";
}

// A number among the settings, and the kinds that have it, each with its default.
struct Setting {
  absl::string_view key;
  NumberRange range;
  void (v1::OptimizerSpec::*set)(float);
  std::map<v1::OptimizerKind, double> defaults;
};

std::map<v1::OptimizerKind, double> AllKinds(double value) {
  std::map<v1::OptimizerKind, double> defaults;
  for (const auto& choice : kKinds) defaults[choice.value] = value;
  return defaults;
}

std::vector<Setting> NewSettings() {
  constexpr auto kMomentum = v1::OPTIMIZER_KIND_MOMENTUM;
  constexpr auto kAdagrad = v1::OPTIMIZER_KIND_ADAGRAD;
  constexpr auto kRowwise = v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD;
  constexpr auto kAdam = v1::OPTIMIZER_KIND_ADAM;
  constexpr auto kAdamw = v1::OPTIMIZER_KIND_ADAMW;
  constexpr auto kRmsprop = v1::OPTIMIZER_KIND_RMSPROP;
  constexpr auto kFtrl = v1::OPTIMIZER_KIND_FTRL;
  using Spec = v1::OptimizerSpec;
  std::map<v1::OptimizerKind, double> rates = AllKinds(0.01);
  rates[kAdagrad] = rates[kRowwise] = rates[kFtrl] = 0.05;
  rates[kAdam] = rates[kAdamw] = rates[kRmsprop] = 0.001;
  std::map<v1::OptimizerKind, double> decays = AllKinds(0);
  decays[kAdamw] = 0.01;
  const std::map<v1::OptimizerKind, double> epsilons = {
      {kAdagrad, 1e-10}, {kRowwise, 1e-10}, {kAdam, 1e-8}, {kAdamw, 1e-8}, {kRmsprop, 1e-8}};
  const std::map<v1::OptimizerKind, double> accumulators = {
      {kAdagrad, 0.1}, {kRowwise, 0.1}, {kFtrl, 0.1}};
  return {
      {"learning_rate", {.max = 1e6, .open = true}, &Spec::set_learning_rate, rates},
      {"momentum", kFraction, &Spec::set_momentum, {{kMomentum, 0.9}}},
      {"beta1", kFraction, &Spec::set_beta1, {{kAdam, 0.9}, {kAdamw, 0.9}}},
      {"beta2", kFraction, &Spec::set_beta2, {{kAdam, 0.999}, {kAdamw, 0.999}}},
      {"epsilon", {.max = 1, .open = true}, &Spec::set_epsilon, epsilons},
      {"initial_accumulator", {}, &Spec::set_initial_accumulator, accumulators},
      {"decay", kFraction, &Spec::set_decay, {{kRmsprop, 0.9}}},
      {"l1", {}, &Spec::set_l1, {{kFtrl, 0}}},
      {"l2", {}, &Spec::set_l2, {{kFtrl, 0}}},
      {"weight_decay", {.max = 1}, &Spec::set_weight_decay, decays},
      {"clip_value", {.open = true}, &Spec::set_clip_value, AllKinds(0)},
  };
}

void RefuseForKind(Section& in, absl::string_view key, v1::OptimizerKind kind) {
  in.Refuse(key, absl::StrCat("is not a setting of ", NameOf(kind)));
}

void ReadSchedule(Section in, v1::ScheduleSpec& out) {
  out.set_kind(in.OneOf<v1::ScheduleKind>("kind", kSchedules, v1::SCHEDULE_KIND_UNSPECIFIED));
  out.set_warmup_examples(in.Whole("warmup_examples", {}, 0));
  out.set_decay_examples(in.Whole("decay_examples", {.min = 1}, 0));
  out.set_decay_rate(in.Number("decay_rate", {.max = 1, .open = true}, 0));
  out.set_floor(in.Number("floor", {.max = 1}, 0));
  const bool constant = out.kind() == v1::SCHEDULE_KIND_UNSPECIFIED;
  const bool has_rate = !constant && out.kind() != v1::SCHEDULE_KIND_COSINE;
  const auto check = [&in](absl::string_view key, bool wanted) {
    if (in.Has(key) == wanted) return;
    in.Refuse(key, wanted ? "is missing" : "means nothing to this kind of schedule");
  };
  check("decay_examples", !constant);
  check("decay_rate", has_rate);
  if (constant && in.Has("floor")) check("floor", false);
}

}  // namespace

void ReadOptimizer(Section& in, v1::OptimizerKind fallback, v1::OptimizerSpec& out) {
  const v1::OptimizerKind kind = in.OneOf<v1::OptimizerKind>("kind", kKinds, fallback);
  out.set_kind(kind);
  for (const Setting& setting : NewSettings()) {
    const auto found = setting.defaults.find(kind);
    const bool has = found != setting.defaults.end();
    const double value = in.Number(setting.key, setting.range, has ? found->second : 0);
    if (has) (out.*setting.set)(static_cast<float>(value));
    if (!has && in.Has(setting.key)) RefuseForKind(in, setting.key, kind);
  }
  out.set_nesterov(in.Flag("nesterov", false));
  if (kind != v1::OPTIMIZER_KIND_MOMENTUM && in.Has("nesterov"))
    RefuseForKind(in, "nesterov", kind);
  ReadSchedule(in.Map("schedule"), *out.mutable_schedule());
  if (kind != v1::OPTIMIZER_KIND_FTRL) return;
  out.set_learning_rate_power(-0.5);
  if (in.Has("schedule")) RefuseForKind(in, "schedule", kind);
}

}  // namespace capstan
