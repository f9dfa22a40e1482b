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

// CPU seconds used so far by this process, and by the process `server`.
struct CpuSeconds {
  double client = 0;
  double server = 0;
};
CpuSeconds CpuUsed(int server);

// From now on the runs of Measure also tell how much CPU each side used: on a busy machine it says
// more than the clock on the wall. 0: no server.
void WatchServer(int pid);

// Runs `once` for warm-up and then PEERS_RUNS (5) times; prints the median, lowest and highest of
// what it returns.
struct Case {
  std::string workload;
  std::string name;
  std::string unit;
};
void Measure(const Case& of, const std::function<double()>& once);

// Prints a case whose runs have been made.
void Report(const Case& of, const std::vector<double>& runs);

}  // namespace capstan::bench

#endif  // CAPSTAN_TESTS_BENCH_DATAPLANE_MEASURE_H_
