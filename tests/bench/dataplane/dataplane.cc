// The data path of one shard and one client over loopback: P1 (dense), P2 (sparse pull), P3 (sparse
// push) and P6 (latency), with the definitions of the peers' benchmarks. The shard is a `ps` that a
// chief directs; tests/bench/turns/dataplane.py starts both, and this program as their client.
//     dataplane P0                            the bare transport, without a shard
//     dataplane FOLDER dense|dtypes           of a job with one dense part of 256 MiB
//     dataplane FOLDER P2 [P3] [P6]|memory    of a job with one table
//     dataplane FOLDER steps                  a pull of 1000 rows and a push to them
//     dataplane FOLDER load                   see paced_load.h
//     dataplane FOLDER probes CHIEF [pushes]  see probes.h
// FOLDER holds the job and its view, see client.h. `dtypes`: pulls and pushes as float32 and as
// bfloat16 in turns; their GB are of the floats as float32, however they travel. `memory`: what a
// shard of a million rows has resident, and its share of the bound: 1.25 x the rows' bytes + 64 MB.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/data/formats/deduplicate.h"
#include "capstan/data/synthetic/zipf.h"
#include "tests/bench/dataplane/client.h"
#include "tests/bench/dataplane/measure.h"
#include "tests/bench/dataplane/paced_load.h"
#include "tests/bench/dataplane/probes.h"
#include "tests/bench/dataplane/raw_stream.h"

namespace capstan::bench {
namespace {

constexpr uint32_t kRows = 1'000'000;
constexpr size_t kBatch = 10'000;
constexpr size_t kBatches = 100;
constexpr int kCalls = 5000;
constexpr size_t kStep = 1000;
constexpr int kSteps = 500;

double GigabytesOf(const Client& client) {
  return static_cast<double>(client.dense_floats()) * 4 / 1e9;
}

// What a second of `once` moves.
template <typename Once>
double Rate(double amount, const Once& once) {
  const double start = Now();
  once();
  return amount / (Now() - start);
}

void RunDense(const ServedJob& served) {
  Client client(served);
  client.Plan({});
  const double gigabytes = GigabytesOf(client);
  const std::vector<float> gradient(client.dense_floats(), 1e-3f);
  const bool adagrad = served.job.tensors(0).optimizer().kind() == v1::OPTIMIZER_KIND_ADAGRAD;
  if (!adagrad) {
    Measure({"P1", "dense pull", "GB/s"}, gigabytes,
            [&] { return Rate(gigabytes, [&] { client.Pull(); }); });
  }
  Measure({"P1", absl::StrCat("dense push ", adagrad ? "Adagrad" : "SGD"), "GB/s"}, gigabytes,
          [&] { return Rate(gigabytes, [&] { client.Push(nullptr, gradient.data()); }); });
}

void RunDtypes(const ServedJob& served) {
  Client whole(served);
  Client half(served, v1::DTYPE_BFLOAT16);
  const double gigabytes = GigabytesOf(whole);
  const std::vector<float> gradient(whole.dense_floats(), 1e-3f);
  whole.Plan({});
  half.Plan({});
  const auto measure = [gigabytes](const std::string& name, auto&& once) {
    Measure({"dtypes", name, "GB/s"}, gigabytes, [&] { return Rate(gigabytes, once); });
  };
  measure("dense pull float32", [&] { whole.Pull(); });
  measure("dense pull bfloat16", [&] { half.Pull(); });
  measure("dense push SGD float32", [&] { whole.Push(nullptr, gradient.data()); });
  measure("dense push SGD bfloat16", [&] { half.Push(nullptr, gradient.data()); });
}

std::vector<uint64_t> Ids(bool zipf) {
  std::vector<uint64_t> ids(kBatch * kBatches);
  const Zipf draw(kRows, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = zipf ? draw(Draw(7, 2, i)) : Draw(7, 1, i) % kRows;
  }
  return ids;
}

// Every id travels, and its row comes straight to its place in the client's matrix.
void PullAllIds(Client& client, absl::Span<const uint64_t> ids) {
  client.Plan(ids);
  client.Pull();
}

// Rows of the distinct keys go to the places of all ids, as the order asked demands.
void PullDistinct(Client& client, Deduplicator& deduplicator, absl::Span<const uint64_t> ids,
                  std::vector<float>& matrix) {
  const size_t dim = client.dim();
  static UniqueKeys& keys = *new UniqueKeys;
  deduplicator.Run({ids.data(), ids.size()}, keys);
  client.Plan(keys.unique);
  client.Pull();
  for (size_t i = 0; i < ids.size(); ++i) {
    std::memcpy(&matrix[i * dim], &client.rows()[size_t{keys.index[i]} * dim], dim * sizeof(float));
  }
}

// Gradients of one key are summed here, before they travel.
void PushBatch(Client& client, Deduplicator& deduplicator, absl::Span<const uint64_t> ids,
               const std::vector<float>& gradient, std::vector<float>& sums) {
  const size_t dim = client.dim();
  static UniqueKeys& keys = *new UniqueKeys;
  deduplicator.Run({ids.data(), ids.size()}, keys);
  std::fill(sums.begin(), sums.begin() + static_cast<long>(keys.unique.size() * dim), 0.f);
  for (size_t i = 0; i < ids.size(); ++i) {
    float* const sum = &sums[size_t{keys.index[i]} * dim];
    for (size_t d = 0; d < dim; ++d) sum[d] += gradient[i * dim + d];
  }
  client.Plan(keys.unique);
  client.Push(sums.data(), nullptr);
}

// Rows have weights, as many slots, their key, and 8 bytes of age.
void RunMemory(const ServedJob& served) {
  Client client(served);
  client.Fill(kRows, [](uint64_t i) { return i; });
  CAPSTAN_CHECK(!WatchedServers().empty());
  std::ifstream file(absl::StrCat("/proc/", WatchedServers().front(), "/statm"));
  double pages = 0, resident = 0;
  file >> pages >> resident;
  resident *= static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
  const auto dim = static_cast<double>(client.dim());
  const double rows = kRows * (2 * dim * sizeof(float) + 16) / 1e6;
  const std::string what = absl::StrCat(kRows, " rows of ", dim, " floats with Adagrad");
  Report({"memory", "resident, " + what, "MB"}, {resident});
  Report({"memory", "share of the bound, " + what, "ratio"}, {resident / (1.25 * rows + 64)});
}

void RunLatency(Client& client) {
  MeasureLatency("P6", "1-row pull", kCalls, [&client](size_t i) {
    const uint64_t key = Draw(7, 1, i) % kRows;
    const double start = Now();
    client.Plan(absl::MakeSpan(&key, 1));
    client.Pull();
    return (Now() - start) * 1e6;
  });
}

void RunSteps(const ServedJob& served) {
  Client client(served);
  client.Fill(kRows, [](uint64_t i) { return i; });
  const std::vector<float> gradient(kStep * client.dim(), 1e-3f);
  std::vector<uint64_t> keys(kStep);
  uint64_t draws = 0;
  MeasureLatency("steps", "a pull of 1000 rows and a push to them", kSteps, [&](size_t) {
    for (uint64_t& key : keys) key = Draw(7, 3, draws++) % kRows;
    const double start = Now();
    client.Plan(keys);
    client.Pull();
    client.Push(gradient.data(), nullptr);
    return (Now() - start) * 1e6;
  });
}

// Batches of ids, one after the other.
template <typename Each>
void MeasureBatches(const Case& of, const std::vector<uint64_t>& ids, const Each& each) {
  const double millions = static_cast<double>(ids.size()) / 1e6;
  Measure(of, millions, [&] {
    return Rate(millions, [&] {
      for (size_t batch = 0; batch < kBatches; ++batch) {
        each(absl::MakeSpan(ids).subspan(batch * kBatch, kBatch));
      }
    });
  });
}

void RunSparse(const ServedJob& served, const std::set<std::string>& wanted) {
  Client client(served);
  client.Fill(kRows, [](uint64_t i) { return i; });
  if (wanted.contains("P6")) RunLatency(client);
  Deduplicator deduplicator;
  const std::vector<float> gradient(kBatch * client.dim(), 1e-3f);
  std::vector<float> matrix(kBatch * client.dim());
  for (bool zipf : {false, true}) {
    const std::vector<uint64_t> ids = Ids(zipf);
    const std::string keys = zipf ? "Zipf" : "uniform";
    using Batch = absl::Span<const uint64_t>;
    if (wanted.contains("P2")) {
      MeasureBatches({"P2", "sparse pull " + keys, "M rows/s"}, ids,
                     [&](Batch batch) { PullAllIds(client, batch); });
      MeasureBatches({"P2", "sparse pull " + keys + ", deduplicated", "M rows/s"}, ids,
                     [&](Batch batch) { PullDistinct(client, deduplicator, batch, matrix); });
    }
    if (wanted.contains("P3")) {
      MeasureBatches(
          {"P3", "sparse push Adagrad " + keys + ", deduplicated", "M rows/s"}, ids,
          [&](Batch batch) { PushBatch(client, deduplicator, batch, gradient, matrix); });
    }
  }
}

void Run(const std::string& folder, const std::vector<std::string>& parts) {
  if (folder == "P0") return RunRawStream();
  if (parts.size() >= 2 && parts[0] == "probes") {
    return RunProbes(folder, parts[1], /*pushes=*/parts.size() > 2 && parts[2] == "pushes");
  }
  const std::set<std::string> wanted(parts.begin(), parts.end());
  if (wanted.contains("load")) return RunPacedLoad(folder);
  const ServedJob served = ReadServedJob(folder);
  if (wanted.contains("dense")) return RunDense(served);
  if (wanted.contains("dtypes")) return RunDtypes(served);
  if (wanted.contains("memory")) return RunMemory(served);
  if (wanted.contains("steps")) return RunSteps(served);
  RunSparse(served, wanted);
}

}  // namespace
}  // namespace capstan::bench

int main(int argc, char** argv) {
  using namespace capstan::bench;
  if (argc < 2) {
    std::cerr << "dataplane P0, or dataplane FOLDER PART...: see the head of its source\n";
    return 2;
  }
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // As the programs do.
  Pin(1);
  Run(argv[1], std::vector<std::string>(argv + 2, argv + argc));
  return 0;
}
