#include <cstring>
#include <initializer_list>

#include "capstan/model/kernels/kernels.h"

namespace capstan::kernels {

const Kernels& Best() {
  for (const char* name : {"avx512", "avx2"}) {
    if (const Kernels* kernels = Find(name)) return *kernels;
  }
  return kBaseline;
}

const Kernels* Find(const char* name) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx512 && std::strcmp(name, "avx512") == 0) return &kAvx512;
  if (avx2 && std::strcmp(name, "avx2") == 0) return &kAvx2;
#endif
  return std::strcmp(name, "baseline") == 0 ? &kBaseline : nullptr;
}

}  // namespace capstan::kernels
