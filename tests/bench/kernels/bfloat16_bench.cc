#include <cstring>
#include <vector>

#include "benchmark/benchmark.h"
#include "capstan/optim/bfloat16.h"

namespace capstan {
namespace {

constexpr size_t kFloats = size_t{1} << 18;  // As a message of 1 MiB holds.

void BM_ToBfloat16(benchmark::State& state) {
  const std::vector<float> floats(kFloats, 1.5f);
  std::vector<uint16_t> halves(kFloats);
  for (auto _ : state) {
    ToBfloat16(floats.data(), kFloats, halves.data());
    benchmark::DoNotOptimize(halves.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kFloats * sizeof(float)));
}
BENCHMARK(BM_ToBfloat16);

void BM_FromBfloat16(benchmark::State& state) {
  const std::vector<uint16_t> halves(kFloats, 0x3FC0);
  std::vector<float> floats(kFloats);
  for (auto _ : state) {
    FromBfloat16(halves.data(), kFloats, floats.data());
    benchmark::DoNotOptimize(floats.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kFloats * sizeof(float)));
}
BENCHMARK(BM_FromBfloat16);

// What float32 does in their place.
void BM_CopyFloats(benchmark::State& state) {
  const std::vector<float> floats(kFloats, 1.5f);
  std::vector<float> copies(kFloats);
  for (auto _ : state) {
    std::memcpy(copies.data(), floats.data(), kFloats * sizeof(float));
    benchmark::DoNotOptimize(copies.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kFloats * sizeof(float)));
}
BENCHMARK(BM_CopyFloats);

}  // namespace
}  // namespace capstan
