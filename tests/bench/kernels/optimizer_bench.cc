#include <vector>

#include "benchmark/benchmark.h"
#include "capstan/optim/optimizer.h"

namespace capstan {
namespace {

// Arguments: kind, width. All weights and all elements of the gradient are such numbers.
void Measure(benchmark::State& state, float weight, float gradient_element) {
  v1::OptimizerSpec spec;
  spec.set_kind(static_cast<v1::OptimizerKind>(state.range(0)));
  spec.set_learning_rate(0.01f);
  spec.set_epsilon(1e-8f);
  spec.set_momentum(0.9f);
  spec.set_beta1(0.9f);
  spec.set_beta2(0.999f);
  spec.set_decay(0.9f);
  spec.set_initial_accumulator(0.1f);
  spec.set_learning_rate_power(-0.5f);
  const auto optimizer = *MakeOptimizer(spec);
  const size_t width = state.range(1);
  std::vector<float> weights(width, weight), slots(optimizer->SlotCount(width)),
      gradient(width, gradient_element);
  const Parameters parameters{weights.data(), slots.data(), width};
  optimizer->Initialize(parameters, 0.01f);
  for (auto _ : state) optimizer->Apply(parameters, gradient.data(), 0.01f);
  state.SetItemsProcessed(state.iterations() * width);
  state.SetLabel(v1::OptimizerKind_Name(spec.kind()));
}

void BM_Optimizer(benchmark::State& state) { Measure(state, 1, 1e-3f); }
void BM_OptimizerOfDenormals(benchmark::State& state) { Measure(state, 1e-40f, 1e-41f); }
BENCHMARK(BM_Optimizer)
    ->ArgsProduct({benchmark::CreateDenseRange(v1::OPTIMIZER_KIND_SGD, v1::OPTIMIZER_KIND_FTRL, 1),
                   {17, 64, 65536}});
BENCHMARK(BM_OptimizerOfDenormals)
    ->ArgsProduct({benchmark::CreateDenseRange(v1::OPTIMIZER_KIND_SGD, v1::OPTIMIZER_KIND_FTRL, 1),
                   {65536}});

}  // namespace
}  // namespace capstan
