#include "tests/unit/optim/specs.h"

#include <utility>

#include "capstan/base/hash.h"

namespace capstan {
namespace {

v1::OptimizerSpec Common(v1::OptimizerKind kind) {
  v1::OptimizerSpec spec;
  spec.set_kind(kind);
  spec.set_learning_rate(0.05f);
  spec.set_epsilon(1e-6f);
  spec.set_momentum(0.9f);
  spec.set_beta1(0.9f);
  spec.set_beta2(0.99f);
  spec.set_initial_accumulator(0.1f);
  spec.set_decay(0.95f);
  spec.set_l1(0.02f);
  spec.set_l2(0.3f);
  spec.set_learning_rate_power(-0.5f);
  return spec;
}

}  // namespace

v1::OptimizerSpec PlainSpec(v1::OptimizerKind kind) { return Common(kind); }

std::vector<NamedSpec> AllSpecs() {
  std::vector<NamedSpec> specs = {{"Sgd", Common(v1::OPTIMIZER_KIND_SGD)},
                                  {"Momentum", Common(v1::OPTIMIZER_KIND_MOMENTUM)},
                                  {"Nesterov", Common(v1::OPTIMIZER_KIND_MOMENTUM)},
                                  {"Adagrad", Common(v1::OPTIMIZER_KIND_ADAGRAD)},
                                  {"RowwiseAdagrad", Common(v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD)},
                                  {"Adam", Common(v1::OPTIMIZER_KIND_ADAM)},
                                  {"AdamW", Common(v1::OPTIMIZER_KIND_ADAMW)},
                                  {"Rmsprop", Common(v1::OPTIMIZER_KIND_RMSPROP)},
                                  {"Ftrl", Common(v1::OPTIMIZER_KIND_FTRL)}};
  specs[2].spec.set_nesterov(true);
  const size_t plain = specs.size();
  for (size_t i = 0; i < plain; ++i) {
    NamedSpec shaped = specs[i];
    shaped.name += "DecayedAndClipped";
    shaped.spec.set_weight_decay(0.1f);
    shaped.spec.set_clip_value(0.5f);
    specs.push_back(shaped);
  }
  specs.push_back({"Running", Common(v1::OPTIMIZER_KIND_RUNNING)});
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
