#include "tests/bench/dataplane/paced_load.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/hash.h"
#include "tests/bench/dataplane/client.h"
#include "tests/bench/dataplane/input_lines.h"
#include "tests/bench/dataplane/measure.h"

namespace capstan::bench {
namespace {

constexpr size_t kLoadBatch = 1000;

struct Order {
  std::string name;
  uint64_t divisor = 1;  // Of the rows that pushes touch.
};

// Nothing at the end of the input.
std::optional<Order> NextOrder(InputLines& lines) {
  const std::optional<std::string> line = lines.Next();
  if (!line) return std::nullopt;
  std::istringstream words(*line);
  Order order;
  words >> order.name;
  if (!(words >> order.divisor)) order.divisor = 1;
  return order;
}

struct Phase {
  std::vector<double> pull_milliseconds;
  double seconds = 0;
};

class PacedLoad {
 public:
  explicit PacedLoad(const std::string& folder)
      : rows_(static_cast<uint64_t>(Setting("CAPSTAN_BENCH_ROWS", 1'000'000))),
        client_(ReadServedJob(folder)),
        keys_(kLoadBatch),
        gradient_(kLoadBatch * client_.dim(), 1e-4f) {}

  void Run() {
    client_.Fill(rows_, [](uint64_t i) { return Mix64(i); });
    std::printf("filled\n");
    std::fflush(stdout);
    std::map<std::string, Phase> phases;
    double full_rate = 0;
    while (const std::optional<Order> order = NextOrder(orders_)) {
      if (order->name == "wait") continue;
      const bool full = order->name == "full";
      const double rate = RunPhase(*order, full ? 0 : full_rate / 2, phases[order->name]);
      if (full) full_rate = rate;
    }
    for (const auto& [name, phase] : phases) Tell(name, phase);
  }

 private:
  // Steps as they are due, at `rate` a second; 0: one after the other. Gives the steps a second.
  double RunPhase(const Order& order, double rate, Phase& phase) {
    const absl::Time begin = absl::Now();
    uint64_t steps = 0;
    for (; !orders_.Waiting(); ++steps) {
      absl::Time due = absl::Now();
      if (rate > 0) {
        due = begin + absl::Seconds(static_cast<double>(steps) / rate);
        absl::SleepFor(due - absl::Now());
      }
      PlanBatch(rows_);
      client_.Pull();
      phase.pull_milliseconds.push_back(absl::ToDoubleMilliseconds(absl::Now() - due));
      if (order.divisor > 1) PlanBatch(rows_ / order.divisor);
      client_.Push(gradient_.data(), nullptr);
    }
    const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
    phase.seconds += seconds;
    return static_cast<double>(steps) / seconds;
  }

  void PlanBatch(uint64_t of) {
    for (uint64_t& key : keys_) key = Mix64(Draw(1, of, draws_++) % of);
    client_.Plan(keys_);
  }

  static void Tell(const std::string& name, const Phase& phase) {
    const std::vector<double>& pulls = phase.pull_milliseconds;
    if (pulls.empty()) return;
    Report({"load", absl::StrCat(name, ", steps"), "steps/s"},
           {static_cast<double>(pulls.size()) / phase.seconds});
    for (double percent : {50., 99., 99.9, 100.}) {
      Report({"load", absl::StrCat(name, ", pull p", percent), "ms"}, {Percentile(pulls, percent)});
    }
  }

  const uint64_t rows_;
  InputLines orders_;
  Client client_;
  std::vector<uint64_t> keys_;
  std::vector<float> gradient_;
  uint64_t draws_ = 0;
};

}  // namespace

void RunPacedLoad(const std::string& folder) { PacedLoad(folder).Run(); }

}  // namespace capstan::bench
