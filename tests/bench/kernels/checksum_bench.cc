#include <string>

#include "benchmark/benchmark.h"
#include "capstan/base/crc32c.h"
#include "capstan/optim/vector_math.h"

namespace capstan {
namespace {

constexpr size_t kMebibyte = 1 << 20;

void BM_Crc32c(benchmark::State& state) {
  const std::string bytes(kMebibyte, 'x');
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(bytes));
  state.SetBytesProcessed(state.iterations() * kMebibyte);
}
BENCHMARK(BM_Crc32c);

void BM_PortableCrc32c(benchmark::State& state) {
  const std::string bytes(kMebibyte, 'x');
  for (auto _ : state) benchmark::DoNotOptimize(PortableCrc32c(bytes));
  state.SetBytesProcessed(state.iterations() * kMebibyte);
}
BENCHMARK(BM_PortableCrc32c);

void BM_AllFinite(benchmark::State& state) {
  const std::string bytes(kMebibyte, '\0');
  for (auto _ : state) benchmark::DoNotOptimize(AllFinite(bytes.data(), kMebibyte / 4));
  state.SetBytesProcessed(state.iterations() * kMebibyte);
}
BENCHMARK(BM_AllFinite);

}  // namespace
}  // namespace capstan
