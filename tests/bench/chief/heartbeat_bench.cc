// What the chief's machine takes for one heartbeat of one worker, with 10 to 1,000 workers at work
// on 100 shards: alone, in one thread, as under the chief's mutex. It should not depend on how many
// the others are.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

constexpr uint32_t kShards = 100;

// Workers that hold work and report a little progress at each heartbeat, one after the other.
class BusyCrew {
 public:
  BusyCrew(uint32_t workers, uint32_t lanes)
      : crew_({.tasks = 50 * workers, .shards = kShards, .lanes = lanes}) {
    crew_.RegisterShards();
    for (uint32_t i = 0; i < workers; ++i) {
      names_.push_back(absl::StrCat("worker-", i));
      crew_.RegisterWorker(names_.back());
    }
    // As many turns as it takes until lanes have come to rest.
    reports_.resize(workers);
    for (int turn = 0; turn < 3; ++turn) {
      for (uint32_t i = 0; i < workers; ++i) Heartbeat();
    }
  }

  void Heartbeat() {
    std::vector<v1::LeaseReport>& reports = reports_[next_];
    for (v1::LeaseReport& report : reports) report.set_loss_sum(report.loss_sum() + 1);
    const v1::WorkerHeartbeatReply reply =
        crew_.Heartbeat(names_[next_], reports, /*wants=*/reports.empty());
    for (const v1::Generation& revoked : reply.revoked()) {
      std::erase_if(reports, [&revoked](const v1::LeaseReport& report) {
        return report.generation().count() == revoked.count();
      });
    }
    for (const v1::Lease& lease : reply.leases()) reports.push_back(Crew::Partly(lease, 0));
    next_ = (next_ + 1) % names_.size();
  }

 private:
  Crew crew_;
  std::vector<std::string> names_;
  std::vector<std::vector<v1::LeaseReport>> reports_;
  size_t next_ = 0;
};

void Run(benchmark::State& state, uint32_t lanes_a_worker) {
  const auto workers = static_cast<uint32_t>(state.range(0));
  BusyCrew crew(workers, lanes_a_worker * workers);
  for (auto _ : state) crew.Heartbeat();
}

void BM_HeartbeatOfATask(benchmark::State& state) { Run(state, /*lanes_a_worker=*/0); }
void BM_HeartbeatOfALane(benchmark::State& state) { Run(state, /*lanes_a_worker=*/1); }
BENCHMARK(BM_HeartbeatOfATask)
    ->Arg(10)
    ->Arg(100)
    ->Arg(300)
    ->Arg(1000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_HeartbeatOfALane)
    ->Arg(10)
    ->Arg(100)
    ->Arg(300)
    ->Arg(1000)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace capstan::chief

BENCHMARK_MAIN();
