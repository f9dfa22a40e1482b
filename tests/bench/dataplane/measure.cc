#include "tests/bench/dataplane/measure.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

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

double SecondsOf(clockid_t clock) {
  timespec used = {};
  clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

std::vector<int>& Servers() {
  static std::vector<int>& servers = *new std::vector<int>([] {
    std::vector<int> named;
    const char* const text = getenv("CAPSTAN_BENCH_SERVERS");
    for (absl::string_view pid : absl::StrSplit(text == nullptr ? "" : text, ',')) {
      int value = 0;
      if (absl::SimpleAtoi(pid, &value)) named.push_back(value);
    }
    return named;
  }());
  return servers;
}

// As the fields of a JSON object: what the runs gave, and `more`.
void Print(const Case& of, const std::vector<double>& runs, const std::string& more) {
  std::printf(
      "RESULT {\"peer\": \"capstan\", \"workload\": \"%s\", \"case\": \"%s\", \"unit\": \"%s\", "
      "\"median\": %.6g, \"values\": [%s]%s}\n",
      of.workload.c_str(), of.name.c_str(), of.unit.c_str(), Percentile(runs, 50),
      absl::StrJoin(runs, ", ").c_str(), more.c_str());
  std::fflush(stdout);
}

std::string CpuPerUnit(const CpuSeconds& before, double units) {
  const CpuSeconds after = CpuUsed();
  const double client = (after.client - before.client) / units;
  const double servers = (after.servers - before.servers) / units;
  return absl::StrFormat(", \"cpu_per_unit\": %.6g, \"cpu_client\": %.6g, \"cpu_servers\": %.6g",
                         client + servers, client, servers);
}

}  // namespace

void WatchServers(std::vector<int> pids) { Servers() = std::move(pids); }

const std::vector<int>& WatchedServers() { return Servers(); }

CpuSeconds CpuUsed() {
  CpuSeconds used = {.client = SecondsOf(CLOCK_PROCESS_CPUTIME_ID)};
  for (int server : Servers()) {
    clockid_t clock;
    if (clock_getcpuclockid(server, &clock) == 0) used.servers += SecondsOf(clock);
  }
  return used;
}

void Measure(const Case& of, double amount, const std::function<double()>& once) {
  std::vector<double> runs(static_cast<size_t>(Setting("PEERS_RUNS", 5)));
  once();
  const CpuSeconds before = CpuUsed();
  for (double& run : runs) run = once();
  Print(of, runs, CpuPerUnit(before, amount * static_cast<double>(runs.size())));
}

void MeasureLatency(const std::string& workload, const std::string& name, int calls,
                    const std::function<double(size_t)>& once) {
  const struct {
    const char* name;
    double percent;
  } kTold[] = {{"p50", 50}, {"p99", 99}, {"p99.9", 99.9}};
  std::vector<double> micros(static_cast<size_t>(calls));
  const auto run = [&] {
    for (size_t i = 0; i < micros.size(); ++i) micros[i] = once(i);
  };
  run();
  const int runs = Setting("PEERS_RUNS", 5);
  std::array<std::vector<double>, std::size(kTold)> found;
  const CpuSeconds before = CpuUsed();
  for (int i = 0; i < runs; ++i) {
    run();
    for (size_t k = 0; k < found.size(); ++k) {
      found[k].push_back(Percentile(micros, kTold[k].percent));
    }
  }
  const std::string cpu = CpuPerUnit(before, static_cast<double>(calls) * runs);
  for (size_t k = 0; k < found.size(); ++k) {
    Print({workload, absl::StrCat(name, " ", kTold[k].name), "us"}, found[k], cpu);
  }
}

void Report(const Case& of, const std::vector<double>& runs) { Print(of, runs, ""); }

}  // namespace capstan::bench
