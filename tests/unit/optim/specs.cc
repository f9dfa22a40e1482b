#include "tests/unit/optim/specs.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "capstan/base/hash.h"
#include "capstan/optim/optimizer_description.h"

namespace capstan {
namespace {

// A key or a name of job.yaml as tests are called: rowwise_adagrad is RowwiseAdagrad.
std::string CamelCase(absl::string_view name) {
  std::string camel;
  for (const absl::string_view word : absl::StrSplit(name, '_')) {
    const auto first = static_cast<unsigned char>(word[0]);
    absl::StrAppend(&camel, std::string(1, absl::ascii_toupper(first)), word.substr(1));
  }
  return camel;
}

// A value with which the term counts, of a setting that by default has none.
float Telling(const OptimizerSetting& setting) {
  return static_cast<float>(setting.default_value == 0 ? 0.05 : setting.default_value);
}

bool IsCommon(const OptimizerSetting& setting) {
  return setting.key == "weight_decay" || setting.key == "clip_value";
}

}  // namespace

v1::OptimizerSpec PlainSpec(v1::OptimizerKind kind) {
  const OptimizerDescription& optimizer = *FindOptimizer(kind);
  v1::OptimizerSpec spec;
  spec.set_kind(kind);
  for (const OptimizerSetting& setting : optimizer.settings) {
    if (!IsCommon(setting)) (spec.*setting.set)(Telling(setting));
  }
  if (optimizer.complete != nullptr) optimizer.complete(spec);
  // Effects of forty updates are to be larger than errors of rounding.
  spec.set_learning_rate(0.05f);
  if (spec.epsilon() > 0) spec.set_epsilon(1e-6f);
  if (spec.beta2() > 0) spec.set_beta2(0.99f);
  return spec;
}

std::vector<NamedSpec> AllSpecs() {
  std::vector<NamedSpec> specs;
  for (const OptimizerDescription& optimizer : OptimizerDescriptions()) {
    std::vector<NamedSpec> some = {
        {CamelCase(OptimizerName(optimizer.kind)), PlainSpec(optimizer.kind)}};
    for (const OptimizerSwitch& of : optimizer.switches) {
      some.push_back({CamelCase(of.key), PlainSpec(optimizer.kind)});
      (some.back().spec.*of.set)(true);
    }
    for (const NamedSpec& plain : some) {
      specs.push_back(plain);
      if (optimizer.FindSetting("weight_decay") == nullptr) continue;
      NamedSpec shaped = plain;
      shaped.name += "DecayedAndClipped";
      shaped.spec.set_weight_decay(0.1f);
      shaped.spec.set_clip_value(0.5f);
      specs.push_back(shaped);
    }
  }
  return specs;
}

OwnedParameters::OwnedParameters(const Optimizer& optimizer, std::vector<float> initial,
                                 float learning_rate)
    : weights(std::move(initial)), slots(optimizer.SlotCount(weights.size())) {
  optimizer.Initialize(view(), learning_rate);
}

std::vector<float> SomeFloats(size_t count, int seed, float scale) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = scale * static_cast<float>(2 * Unit(Draw(seed, 1, i)) - 1);
  }
  return values;
}

}  // namespace capstan
