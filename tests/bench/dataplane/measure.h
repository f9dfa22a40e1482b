// Timed runs of a case, and one line of JSON each, in the form of the peers' results.
#ifndef CAPSTAN_TESTS_BENCH_DATAPLANE_MEASURE_H_
#define CAPSTAN_TESTS_BENCH_DATAPLANE_MEASURE_H_

#include <functional>
#include <string>
#include <vector>

namespace capstan::bench {

// Seconds of the monotonic clock.
double Now();

// Binds the process to a core, unless PEERS_PIN=0.
void Pin(int core);

// An environment variable, or the default.
int Setting(const char* name, int otherwise);

// Of a sorted copy. REQUIRES: not empty.
double Percentile(std::vector<double> values, double percent);

// From now on CPU time is also that of these processes; before, what CAPSTAN_BENCH_SERVERS names,
// with commas.
void WatchServers(std::vector<int> pids);
const std::vector<int>& WatchedServers();

// CPU seconds used so far by this process, and by the watched servers.
struct CpuSeconds {
  double client = 0;
  double servers = 0;
};
CpuSeconds CpuUsed();

struct Case {
  std::string workload;
  std::string name;
  std::string unit;  // "X/s": what `once` gives is a rate, and CPU time is told for each X.
};

// Runs `once` for warm-up and then PEERS_RUNS (5) times. Prints what each run gave, and the CPU
// seconds that the client and the servers took for each unit: on a busy machine they say more than
// the clock on the wall. `amount`: units of one run.
void Measure(const Case& of, double amount, const std::function<double()>& once);

// Runs so many calls, PEERS_RUNS times after a warm-up, and prints the median, the 99th and the
// 99.9th percentile of each run. `once` makes the i-th call and gives its microseconds.
void MeasureLatency(const std::string& workload, const std::string& name, int calls,
                    const std::function<double(size_t)>& once);

// Prints a case whose runs have been made.
void Report(const Case& of, const std::vector<double>& runs);

}  // namespace capstan::bench

#endif  // CAPSTAN_TESTS_BENCH_DATAPLANE_MEASURE_H_
