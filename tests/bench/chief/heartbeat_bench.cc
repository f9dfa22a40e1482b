// What the chief's machine takes for one heartbeat of one worker, with 10 to 1,000 workers at work
// on 100 shards: alone, in one thread, as under the chief's mutex. It should not depend on how many
// the others are.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

constexpr uint32_t kShards = 100;

struct CrewShape {
  uint32_t threads = 1;         // Trainers a worker.
  uint32_t lanes_a_worker = 0;  // 0: asynchronous.
  bool ssp = false;
  uint32_t tasks_a_worker = 50;
  uint32_t epochs = 1;
};

// Workers that hold work and report on it at each heartbeat, one after the other.
class BusyCrew {
 public:
  BusyCrew(uint32_t workers, const CrewShape& shape)
      : crew_({.tasks = shape.tasks_a_worker * workers,
               .epochs = shape.epochs,
               .shards = kShards,
               .threads = shape.threads,
               .lanes = shape.lanes_a_worker * workers,
               .ssp = shape.ssp}) {
    crew_.RegisterShards();
    for (uint32_t i = 0; i < workers; ++i) {
      names_.push_back(absl::StrCat("worker-", i));
      crew_.RegisterWorker(names_.back());
    }
    // As many turns as it takes until lanes have come to rest.
    held_.resize(workers);
    for (int turn = 0; turn < 3; ++turn) {
      for (uint32_t i = 0; i < workers; ++i) Heartbeat();
    }
  }

  // The next worker tells of a little progress.
  void Heartbeat() {
    std::vector<v1::LeaseReport> reports;
    for (Held& held : held_[next_]) {
      held.report.set_loss_sum(held.report.loss_sum() + 1);
      reports.push_back(held.report);
    }
    Send(reports);
  }

  // From now on each worker speaks once a second.
  void LetTimePass() { between_ = absl::Seconds(1) / static_cast<int64_t>(names_.size()); }

  // The next worker has done one task of each of its trainers.
  void FinishTasks() {
    std::map<uint64_t, const Held*> first;
    for (const Held& held : held_[next_]) first.try_emplace(held.lease.trainer(), &held);
    std::vector<v1::LeaseReport> reports;
    for (const Held& held : held_[next_]) {
      const bool done = first.at(held.lease.trainer()) == &held;
      reports.push_back(done ? Crew::Done(held.lease) : held.report);
    }
    Send(reports);
  }

 private:
  struct Held {
    v1::Lease lease;
    v1::LeaseReport report;
  };

  void Send(const std::vector<v1::LeaseReport>& reports) {
    crew_.now += between_;
    std::vector<Held>& held = held_[next_];
    const v1::WorkerHeartbeatReply reply = crew_.Heartbeat(names_[next_], reports, /*wants=*/true);
    for (const v1::Generation& revoked : reply.revoked()) {
      std::erase_if(held, [&revoked](const Held& of) {
        return of.lease.generation().count() == revoked.count();
      });
    }
    for (const v1::Lease& lease : reply.leases()) held.push_back({lease, Crew::Partly(lease, 0)});
    crew_.views.clear();
    next_ = (next_ + 1) % names_.size();
  }

  Crew crew_;
  std::vector<std::string> names_;
  std::vector<std::vector<Held>> held_;
  size_t next_ = 0;
  absl::Duration between_ = absl::ZeroDuration();
};

void Run(benchmark::State& state, const CrewShape& shape) {
  BusyCrew crew(static_cast<uint32_t>(state.range(0)), shape);
  for (auto _ : state) crew.Heartbeat();
}

void RunTasks(benchmark::State& state, const CrewShape& shape) {
  BusyCrew crew(static_cast<uint32_t>(state.range(0)), shape);
  for (auto _ : state) crew.FinishTasks();
}

constexpr uint32_t kManyEpochs = 10'000;

void BM_HeartbeatOfATask(benchmark::State& state) { Run(state, {}); }
void BM_HeartbeatOfALane(benchmark::State& state) { Run(state, {.lanes_a_worker = 1}); }
void BM_HeartbeatOfEightThreads(benchmark::State& state) { Run(state, {.threads = 8}); }
void BM_HeartbeatOfEightLanes(benchmark::State& state) {
  Run(state, {.threads = 8, .lanes_a_worker = 8});
}
void BM_HeartbeatOfEightThreadsSsp(benchmark::State& state) {
  Run(state, {.threads = 8, .ssp = true});
}
// All tasks are given out, and half of the threads have no second one to go on with.
void BM_HeartbeatAtTheEndOfTheTasks(benchmark::State& state) {
  Run(state, {.threads = 8, .tasks_a_worker = 12});
}
void BM_EightTasksEnd(benchmark::State& state) {
  RunTasks(state, {.threads = 8, .epochs = kManyEpochs});
}
void BM_EightTasksEndSsp(benchmark::State& state) {
  RunTasks(state, {.threads = 8, .ssp = true, .epochs = kManyEpochs});
}
// The last tasks, within a second: their threads cease to train, and those of other workers go on.
void RunTheEnd(benchmark::State& state, bool ssp) {
  BusyCrew crew(static_cast<uint32_t>(state.range(0)),
                {.threads = 8, .ssp = ssp, .tasks_a_worker = 8});
  crew.LetTimePass();
  for (auto _ : state) crew.FinishTasks();
}

void Curve(benchmark::internal::Benchmark* of) {
  for (const int workers : {10, 100, 300, 1000}) of->Arg(workers);
  of->Unit(benchmark::kMicrosecond);
}

// Half of the workers end their last tasks: after that there is nothing to measure.
void RegisterTheEnd(const char* name, bool ssp) {
  for (const int workers : {10, 100, 300, 1000}) {
    benchmark::RegisterBenchmark(name, [ssp](benchmark::State& state) { RunTheEnd(state, ssp); })
        ->Arg(workers)
        ->Iterations(workers / 2)
        ->Unit(benchmark::kMicrosecond);
  }
}

BENCHMARK(BM_HeartbeatOfATask)->Apply(Curve);
BENCHMARK(BM_HeartbeatOfALane)->Apply(Curve);
BENCHMARK(BM_HeartbeatOfEightThreads)->Apply(Curve);
BENCHMARK(BM_HeartbeatOfEightLanes)->Apply(Curve);
BENCHMARK(BM_HeartbeatOfEightThreadsSsp)->Apply(Curve);
BENCHMARK(BM_HeartbeatAtTheEndOfTheTasks)->Apply(Curve);
BENCHMARK(BM_EightTasksEnd)->Apply(Curve);
BENCHMARK(BM_EightTasksEndSsp)->Apply(Curve);

}  // namespace
}  // namespace capstan::chief

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  capstan::chief::RegisterTheEnd("BM_TheLastTasksEnd", /*ssp=*/false);
  capstan::chief::RegisterTheEnd("BM_TheLastTasksEndSsp", /*ssp=*/true);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
