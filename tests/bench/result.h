// What a benchmark prints for tests/bench/record.
#ifndef CAPSTAN_TESTS_BENCH_RESULT_H_
#define CAPSTAN_TESTS_BENCH_RESULT_H_

#include <cstdio>
#include <string>

namespace capstan {

// A line on standard output: one case, measured once. The names are of letters that JSON takes as
// they are.
inline void TellResult(const std::string& name, const char* unit, double value) {
  std::printf(
      "RESULT {\"peer\": \"capstan\", \"case\": \"%s\", \"unit\": \"%s\", \"values\": [%.9g]}\n",
      name.c_str(), unit, value);
}

}  // namespace capstan

#endif  // CAPSTAN_TESTS_BENCH_RESULT_H_
