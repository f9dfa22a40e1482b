// Steps of a network on one thread: forward and backward, parameters at hand. DeepFM is the model
// of the peers' workload P4: 39 keys a record, embedding 16, layers of 400 and 400, batches of 1024
// with 9,700 distinct keys.
#include <vector>

#include "benchmark/benchmark.h"
#include "capstan/base/hash.h"
#include "capstan/model/layout.h"
#include "capstan/model/network.h"

namespace capstan {
namespace {

constexpr uint32_t kFields = 39, kBatch = 1024, kDistinct = 9700;

v1::JobSpec SpecOf(const char* preset) {
  v1::JobSpec spec;
  spec.mutable_data()->set_format(v1::DATA_FORMAT_CSV);
  spec.mutable_data()->set_fields(kFields);
  spec.mutable_model()->set_preset(preset);
  spec.mutable_model()->set_embedding_dim(16);
  return spec;
}

std::vector<float> Floats(size_t count, float scale) {
  std::vector<float> result(count);
  for (size_t i = 0; i < count; ++i) {
    result[i] = scale * static_cast<float>(2 * Unit(Draw(1, 1, i)) - 1);
  }
  return result;
}

void Step(benchmark::State& state, const char* preset) {
  v1::JobSpec spec = SpecOf(preset);
  if (!LayOutModel(spec).ok()) return state.SkipWithError("no such model");
  const auto network = std::move(Network::Create(spec)).value();
  std::vector<uint32_t> offsets = {0}, index;
  std::vector<float> labels;
  for (uint32_t i = 0; i < kBatch; ++i) {
    for (uint32_t f = 0; f < kFields; ++f) index.push_back(Draw(1, 2, index.size()) % kDistinct);
    offsets.push_back(static_cast<uint32_t>(index.size()));
    labels.push_back(i % 4 == 0 ? 1.0f : 0.0f);
  }
  const std::vector<float> rows = Floats(size_t{kDistinct} * network->row_dim(), 0.01f);
  const std::vector<float> parameters = Floats(network->parameter_count(), 0.05f);
  const NetworkInput input = {.labels = labels,
                              .offsets = offsets,
                              .index = index,
                              .values = {},
                              .dense = {},
                              .rows = rows,
                              .parameters = parameters};
  for (auto _ : state) benchmark::DoNotOptimize(network->ForwardBackward(input).loss_sum);
  state.SetItemsProcessed(state.iterations() * kBatch);
}

BENCHMARK_CAPTURE(Step, lr, "lr");
BENCHMARK_CAPTURE(Step, fm, "fm");
BENCHMARK_CAPTURE(Step, deepfm, "deepfm");
BENCHMARK_CAPTURE(Step, wide_deep, "wide_deep");
BENCHMARK_CAPTURE(Step, dcn_v2, "dcn_v2");
BENCHMARK_CAPTURE(Step, dlrm, "dlrm");

}  // namespace
}  // namespace capstan

BENCHMARK_MAIN();
