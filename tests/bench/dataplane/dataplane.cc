// The data path of one shard and one client over loopback: P1 (dense), P2 (sparse pull), P3 (sparse
// push) and P6 (latency), with the definitions of the peers' benchmarks, and the bare transport
// beside them. The shard is a process of its own on core 0, the client is on core 1.
//     dataplane [P0] [P1] [P2] [P3] [P6] [memory]
// `memory`: what a shard of a million rows has resident, and its share of the bound: 1.25 x the
// rows' bytes + 64 MB.
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/client/ps_client.h"
#include "capstan/data/deduplicate.h"
#include "capstan/data/zipf.h"
#include "tests/bench/dataplane/measure.h"
#include "tests/bench/dataplane/raw_stream.h"
#include "tests/integration/shard/local_shard.h"

namespace capstan::bench {
namespace {

constexpr uint32_t kRows = 1'000'000;
constexpr uint32_t kDim = 64;
constexpr size_t kBatch = 10'000;
constexpr size_t kBatches = 100;
constexpr int kPort = 47'681;

size_t DenseFloats() { return size_t{static_cast<size_t>(Setting("PEERS_DENSE_MIB", 256))} << 18; }

void SetAdagrad(v1::OptimizerSpec& optimizer, float rate) {
  optimizer.set_kind(v1::OPTIMIZER_KIND_ADAGRAD);
  optimizer.set_learning_rate(rate);
  optimizer.set_initial_accumulator(0.1f);
  optimizer.set_epsilon(1e-10f);
}

v1::JobSpec DenseJob(bool adagrad) {
  v1::JobSpec job = SmallJob(0, static_cast<uint32_t>(DenseFloats()));
  job.set_partition_count(256);
  job.mutable_tensors(0)->mutable_optimizer()->set_learning_rate(0.01f);
  if (adagrad) SetAdagrad(*job.mutable_tensors(0)->mutable_optimizer(), 0.01f);
  return job;
}

v1::JobSpec SparseJob(uint32_t dim) {
  v1::JobSpec job = SmallJob(dim, 0);
  job.set_partition_count(256);
  SetAdagrad(*job.mutable_tables(0)->mutable_optimizer(), 0.02f);
  return job;
}

// A shard in a child process, which ends with this object.
class ShardProcess {
 public:
  explicit ShardProcess(const v1::JobSpec& job) {
    child_ = fork();
    WatchServer(child_);
    if (child_ != 0) return;
    Pin(0);
    LocalShards shards(job, 1, kPort);
    pause();
    _exit(0);
  }
  // What it has in memory.
  double ResidentMegabytes() const {
    std::ifstream file(absl::StrCat("/proc/", child_, "/statm"));
    double pages = 0, resident = 0;
    file >> pages >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
  }
  ~ShardProcess() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_;
};

// The view of that shard, which the child has made in the same way.
v1::View ViewOf(const v1::JobSpec& job) {
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(1);
  view.set_timeline(1);
  for (uint32_t i = 0; i < job.partition_count(); ++i) view.add_owners(0);
  *view.add_shards() = LocalShards::InfoOf(0, kPort);
  return view;
}

class Client {
 public:
  explicit Client(const v1::JobSpec& job)
      : map_(*ParameterMap::Create(job)),
        client_(loop_, map_, {.chunks_in_flight = Setting("CAPSTAN_IN_FLIGHT", 4)}),
        plan_(map_) {
    CAPSTAN_CHECK(client_.SetView(ViewOf(job)));
    versions_.resize(map_.partition_count());
    dense_.resize(map_.layout().flat_size(), 1e-3f);
  }

  void Plan(absl::Span<const uint64_t> keys) {
    const std::array<TableKeys, 1> tables = {TableKeys{0, keys}};
    plan_.Build(map_.tables().empty() ? absl::Span<const TableKeys>() : tables, !dense_.empty());
    plan_.Route(client_.owners());
    if (!map_.tables().empty() && rows_.size() < keys.size() * kDim) {
      rows_.resize(keys.size() * kDim);
    }
  }

  void Pull() {
    const std::array<float*, 1> rows = {rows_.data()};
    const PullOutcome outcome =
        client_.PullAll(plan_, {.timeout = absl::Seconds(60)},
                        {.rows = rows, .dense = dense_.data(), .versions = &versions_});
    if (!outcome.status.ok()) Die(outcome.status);
  }

  void Push(const float* rows, const float* dense) {
    const std::array<const float*, 1> matrices = {rows};
    const PushOutcome outcome =
        client_.PushAll(plan_,
                        {.stream = StreamPush{StreamId::Session(7), seq_, {1, 1}, seq_},
                         .timeout = absl::Seconds(60)},
                        {.rows = matrices, .dense = dense, .versions = &versions_});
    ++seq_;
    if (!outcome.status.ok()) Die(outcome.status);
    CAPSTAN_CHECK(outcome.count(v1::FATE_APPLIED) > 0);
  }

  // Until the shard answers.
  void AwaitShard() {
    for (int attempt = 0; attempt < 200; ++attempt) {
      plan_.Build({}, false);
      plan_.Route(client_.owners());
      std::optional<absl::Status> status;
      client_.Pull(ShardIndex{0}, plan_, {}, {},
                   [&status](const PullOutcome& outcome) { status = outcome.status; });
      while (!status) loop_.Poll(absl::Seconds(1));
      if (status->ok()) return;
      usleep(50'000);
    }
    Die(absl::UnavailableError("the shard does not answer"));
  }

  std::vector<float>& dense() { return dense_; }
  std::vector<float>& rows() { return rows_; }

 private:
  [[noreturn]] static void Die(const absl::Status& status) {
    std::cerr << status << "\n";
    exit(1);
  }

  EventLoop loop_;
  ParameterMap map_;
  PsClient client_;
  RequestPlan plan_;
  PartitionVersions versions_;
  std::vector<float> rows_;
  std::vector<float> dense_;
  uint64_t seq_ = 0;
};

void RunDense(bool adagrad) {
  const v1::JobSpec job = DenseJob(adagrad);
  const ShardProcess shard(job);
  Client client(job);
  client.AwaitShard();
  client.Plan({});
  const double gigabytes = static_cast<double>(DenseFloats()) * 4 / 1e9;
  const auto timed = [gigabytes](auto&& once) {
    const double start = Now();
    once();
    return gigabytes / (Now() - start);
  };
  const std::vector<float> gradient(DenseFloats(), 1e-3f);
  const std::string size = absl::StrCat(DenseFloats() >> 18, " MiB");
  if (!adagrad) {
    Measure({"P1", "dense pull " + size, "GB/s"}, [&] { return timed([&] { client.Pull(); }); });
  }
  Measure({"P1", absl::StrCat("dense push ", adagrad ? "Adagrad " : "SGD ", size), "GB/s"},
          [&] { return timed([&] { client.Push(nullptr, gradient.data()); }); });
}

std::vector<uint64_t> Ids(bool zipf) {
  std::vector<uint64_t> ids(kBatch * kBatches);
  const Zipf draw(kRows, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = zipf ? draw(Draw(7, 2, i)) : Draw(7, 1, i) % kRows;
  }
  return ids;
}

// Creates every row.
void FillTable(Client& client) {
  std::vector<uint64_t> keys(kBatch);
  const std::vector<float> gradient(kBatch * kDim, 1e-3f);
  for (uint64_t first = 0; first < kRows; first += kBatch) {
    for (size_t i = 0; i < kBatch; ++i) keys[i] = first + i;
    client.Plan(keys);
    client.Push(gradient.data(), nullptr);
  }
}

// Every id travels, and its row comes straight to its place in the client's matrix.
void PullAllIds(Client& client, absl::Span<const uint64_t> ids) {
  client.Plan(ids);
  client.Pull();
}

// Rows of the distinct keys go to the places of all ids, as the order asked demands.
void PullDistinct(Client& client, Deduplicator& deduplicator, absl::Span<const uint64_t> ids,
                  std::vector<float>& matrix) {
  static UniqueKeys& keys = *new UniqueKeys;
  deduplicator.Run({ids.data(), ids.size()}, keys);
  client.Plan(keys.unique);
  client.Pull();
  for (size_t i = 0; i < ids.size(); ++i) {
    std::memcpy(&matrix[i * kDim], &client.rows()[size_t{keys.index[i]} * kDim],
                kDim * sizeof(float));
  }
}

// Gradients of one key are summed here, before they travel.
void PushBatch(Client& client, Deduplicator& deduplicator, absl::Span<const uint64_t> ids,
               const std::vector<float>& gradient, std::vector<float>& sums) {
  static UniqueKeys& keys = *new UniqueKeys;
  deduplicator.Run({ids.data(), ids.size()}, keys);
  std::fill(sums.begin(), sums.begin() + static_cast<long>(keys.unique.size() * kDim), 0.f);
  for (size_t i = 0; i < ids.size(); ++i) {
    float* const sum = &sums[size_t{keys.index[i]} * kDim];
    for (size_t d = 0; d < kDim; ++d) sum[d] += gradient[i * kDim + d];
  }
  client.Plan(keys.unique);
  client.Push(sums.data(), nullptr);
}

// Rows have weights, as many slots, their key, and 8 bytes of age.
void RunMemory(uint32_t dim) {
  const v1::JobSpec job = SparseJob(dim);
  const ShardProcess shard(job);
  Client client(job);
  client.AwaitShard();
  FillTable(client);
  const double rows = kRows * (2.0 * dim * sizeof(float) + 16) / 1e6;
  const std::string what = absl::StrCat(kRows, " rows of ", dim, " floats with Adagrad");
  const double resident = shard.ResidentMegabytes();
  Report({"memory", "resident, " + what, "MB"}, {resident});
  Report({"memory", "share of the bound, " + what, "ratio"}, {resident / (1.25 * rows + 64)});
}

void RunSparse(bool pulls, bool pushes, bool latency) {
  const v1::JobSpec job = SparseJob(kDim);
  const ShardProcess shard(job);
  Client client(job);
  client.AwaitShard();
  FillTable(client);
  Deduplicator deduplicator;
  std::vector<float> matrix(kBatch * kDim, 1e-3f);
  std::vector<float> sums(kBatch * kDim);
  for (bool zipf : {false, true}) {
    const std::vector<uint64_t> ids = Ids(zipf);
    const std::string keys = zipf ? "Zipf" : "uniform";
    const auto timed = [&ids](auto&& each) {
      const double start = Now();
      for (size_t batch = 0; batch < kBatches; ++batch) {
        each(absl::MakeSpan(ids).subspan(batch * kBatch, kBatch));
      }
      return static_cast<double>(ids.size()) / 1e6 / (Now() - start);
    };
    if (pulls) {
      Measure({"P2", "sparse pull " + keys, "M rows/s"}, [&] {
        return timed([&](absl::Span<const uint64_t> batch) { PullAllIds(client, batch); });
      });
      Measure({"P2", "sparse pull " + keys + ", deduplicated", "M rows/s"}, [&] {
        return timed([&](absl::Span<const uint64_t> batch) {
          PullDistinct(client, deduplicator, batch, matrix);
        });
      });
    }
    if (pushes) {
      std::fill(matrix.begin(), matrix.end(), 1e-3f);
      Measure({"P3", "sparse push Adagrad " + keys + ", deduplicated", "M rows/s"}, [&] {
        return timed([&](absl::Span<const uint64_t> batch) {
          PushBatch(client, deduplicator, batch, matrix, sums);
        });
      });
    }
  }
  if (!latency) return;
  std::vector<double> p50, p99;
  for (int run = 0; run < Setting("PEERS_RUNS", 5); ++run) {
    std::vector<double> micros(5000);
    for (size_t i = 0; i < micros.size(); ++i) {
      const uint64_t key = Draw(7, 1, i) % kRows;
      const double start = Now();
      client.Plan(absl::MakeSpan(&key, 1));
      client.Pull();
      micros[i] = (Now() - start) * 1e6;
    }
    p50.push_back(Percentile(micros, 50));
    p99.push_back(Percentile(micros, 99));
  }
  Report({"P6", "1-row pull p50", "us"}, p50);
  Report({"P6", "1-row pull p99", "us"}, p99);
}

}  // namespace
}  // namespace capstan::bench

int main(int argc, char** argv) {
  using namespace capstan::bench;
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // As the shard's process.
  std::set<std::string> wanted(argv + 1, argv + argc);
  if (wanted.empty()) wanted = {"P0", "P1", "P2", "P3", "P6"};
  Pin(1);
  // Each part in a process of its own: gRPC must not have begun where one forks.
  const auto apart = [](auto&& part) {
    const pid_t child = fork();
    if (child == 0) {
      part();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) exit(1);
  };
  if (wanted.contains("P0")) apart([] { RunRawStream(); });
  if (wanted.contains("P1")) {
    apart([] { RunDense(/*adagrad=*/false); });
    apart([] { RunDense(/*adagrad=*/true); });
  }
  if (wanted.contains("P2") || wanted.contains("P3") || wanted.contains("P6")) {
    apart([&] { RunSparse(wanted.contains("P2"), wanted.contains("P3"), wanted.contains("P6")); });
  }
  if (wanted.contains("memory")) {
    for (const uint32_t dim : {64, 16}) apart([dim] { RunMemory(dim); });
  }
  return 0;
}
