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

namespace {

int watched_server = 0;

double SecondsOf(clockid_t clock) {
  timespec used = {};
  clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace

CpuSeconds CpuUsed(int server) {
  CpuSeconds used = {.client = SecondsOf(CLOCK_PROCESS_CPUTIME_ID)};
  clockid_t clock;
  if (server != 0 && clock_getcpuclockid(server, &clock) == 0) used.server = SecondsOf(clock);
  return used;
}

void WatchServer(int pid) { watched_server = pid; }

void Measure(const Case& of, const std::function<double()>& once) {
  std::vector<double> runs(static_cast<size_t>(Setting("PEERS_RUNS", 5)));
  once();
  const CpuSeconds before = CpuUsed(watched_server);
  for (double& run : runs) run = once();
  const CpuSeconds after = CpuUsed(watched_server);
  const auto count = static_cast<double>(runs.size());
  Report(of, runs);
  std::printf("  CPU seconds a run: client %.4f, server %.4f\n",
              (after.client - before.client) / count, (after.server - before.server) / count);
  std::fflush(stdout);
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
