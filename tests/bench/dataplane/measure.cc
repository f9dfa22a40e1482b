#include "tests/bench/dataplane/measure.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace capstan::bench {

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void Pin(int core) {
  const char* pin = getenv("PEERS_PIN");
  if (pin != nullptr && std::string_view(pin) == "0") return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

int Setting(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text == nullptr ? otherwise : atoi(text);
}

double Percentile(std::vector<double> values, double percent) {
  std::sort(values.begin(), values.end());
  const double place = percent / 100 * static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(place + 0.5)];
}

void Measure(const Case& of, const std::function<double()>& once) {
  std::vector<double> runs(static_cast<size_t>(Setting("PEERS_RUNS", 5)));
  once();
  for (double& run : runs) run = once();
  Report(of, runs);
}

void Report(const Case& of, const std::vector<double>& runs) {
  std::printf(
      "RESULT {\"peer\": \"capstan\", \"workload\": \"%s\", \"case\": \"%s\", \"unit\": \"%s\", "
      "\"median\": %.6g, \"min\": %.6g, \"max\": %.6g, \"runs\": %zu}\n",
      of.workload.c_str(), of.name.c_str(), of.unit.c_str(), Percentile(runs, 50),
      Percentile(runs, 0), Percentile(runs, 100), runs.size());
  std::fflush(stdout);
}

}  // namespace capstan::bench
