#include "tests/bench/checkpoint/load_client.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <vector>

#include "absl/time/clock.h"
#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/client/ps_client.h"
#include "tests/integration/shard/local_shard.h"

namespace capstan::bench {
namespace {

v1::View ViewOf(const v1::JobSpec& job, int port) {
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(1);
  view.set_timeline(1);
  for (uint32_t i = 0; i < job.partition_count(); ++i) view.add_owners(0);
  *view.add_shards() = LocalShards::InfoOf(0, port);
  return view;
}

class Client {
 public:
  Client(const v1::JobSpec& job, const LoadOptions& options, LoadRecord& record)
      : options_(options),
        record_(record),
        map_(*ParameterMap::Create(job)),
        client_(loop_, map_, {}),
        plan_(map_),
        dim_(job.tables(0).dim()),
        keys_(options.batch),
        rows_(options.batch * dim_),
        gradient_(options.batch * dim_, 1e-4f) {
    CAPSTAN_CHECK(client_.SetView(ViewOf(job, options.port)));
    versions_.resize(map_.partition_count());
  }

  void Run() {
    double full_rate = 0;
    for (;;) {
      const auto phase = static_cast<Phase>(record_.phase.load());
      if (phase == Phase::kEnd) return;
      if (phase == Phase::kWait) {
        absl::SleepFor(absl::Milliseconds(1));
        continue;
      }
      const double steps = RunPhase(phase, phase == Phase::kFull ? 0 : full_rate / 2);
      if (phase == Phase::kFull) full_rate = steps;
    }
  }

 private:
  // Steps as they are due, at `rate` a second; 0: one after the other. Gives the steps a second.
  double RunPhase(Phase phase, double rate) {
    LoadRecord::OfPhase& of = record_.phases[static_cast<size_t>(phase)];
    const absl::Time begin = absl::Now();
    absl::Time due = begin;
    const size_t before = of.pulls;  // The phase may come again.
    size_t steps = 0;
    for (; record_.phase == static_cast<int>(phase); ++steps) {
      if (rate > 0) {
        due = begin + absl::Seconds(static_cast<double>(steps) / rate);
        if (absl::Now() < due) absl::SleepFor(due - absl::Now());
      } else {
        due = absl::Now();
      }
      Pull();
      if (before + steps < LoadRecord::kMaxPulls) {
        of.pull_seconds[before + steps] =
            static_cast<float>(absl::ToDoubleSeconds(absl::Now() - due));
      }
      Push(phase);
    }
    of.pulls = std::min(before + steps, LoadRecord::kMaxPulls);
    const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
    of.seconds += seconds;
    return static_cast<double>(steps) / seconds;
  }

  void Draw(uint64_t of) {
    for (uint64_t& key : keys_) key = Mix64(capstan::Draw(1, of, draws_++) % of);
    const std::array<TableKeys, 1> tables = {TableKeys{0, keys_}};
    plan_.Build(tables, /*dense=*/false);
    plan_.Route(client_.owners());
  }

  void Pull() {
    Draw(options_.rows);
    const std::array<float*, 1> rows = {rows_.data()};
    const PullOutcome pulled =
        client_.PullAll(plan_, {}, {.rows = rows, .dense = nullptr, .versions = &versions_});
    CAPSTAN_CHECK(pulled.status.ok());
  }

  void Push(Phase phase) {
    if (phase == Phase::kDelta) Draw(options_.hot_rows);
    const std::array<const float*, 1> rows = {gradient_.data()};
    const PushOutcome pushed = client_.PushAll(
        plan_, {.stream = StreamPush{StreamId::Session(7), seq_, {1, 1}, seq_}}, {.rows = rows});
    ++seq_;
    CAPSTAN_CHECK(pushed.status.ok() && pushed.count(v1::FATE_APPLIED) > 0);
  }

  const LoadOptions options_;
  LoadRecord& record_;
  EventLoop loop_;
  ParameterMap map_;
  PsClient client_;
  RequestPlan plan_;
  const size_t dim_;
  std::vector<uint64_t> keys_;
  std::vector<float> rows_;
  std::vector<float> gradient_;
  PartitionVersions versions_;
  uint64_t draws_ = 0;
  uint64_t seq_ = 0;
};

}  // namespace

LoadRecord* NewLoadRecord() {
  void* const memory =
      mmap(nullptr, sizeof(LoadRecord), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CAPSTAN_CHECK(memory != MAP_FAILED);
  return new (memory) LoadRecord{};
}

pid_t StartClient(const v1::JobSpec& job, const LoadOptions& options, LoadRecord* record) {
  const pid_t child = fork();
  CAPSTAN_CHECK(child >= 0);
  if (child > 0) return child;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(1, &cores);
  sched_setaffinity(0, sizeof(cores), &cores);
  while (record->phase.load() == static_cast<int>(Phase::kWait)) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  Client(job, options, *record).Run();
  _exit(0);
}

}  // namespace capstan::bench
