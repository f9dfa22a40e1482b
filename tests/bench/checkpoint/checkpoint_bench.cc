// A checkpoint under load: a table of 2 GiB on one shard (core 0) is saved while a client (core 1)
// pulls and pushes at half of its full rate, beside the same load without a save; then a delta of
// 5 % of the rows, and a restore.
//     checkpoint_bench [folder or s3://bucket/prefix]
//                                      CAPSTAN_BENCH_MIB (2048), CAPSTAN_BENCH_SECONDS (10),
//                                      CAPSTAN_BENCH_TURNS (2)
#include <malloc.h>
#include <sched.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/placement/placement.h"
#include "tests/bench/checkpoint/load_client.h"
#include "tests/integration/shard/local_shard.h"

namespace capstan::bench {
namespace {

constexpr int kPort = 47'691;
constexpr uint32_t kDim = 32;
constexpr size_t kBatch = 1000;

int Setting(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  int value = otherwise;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

v1::JobSpec Job() {
  v1::JobSpec job = SmallJob(kDim, 0);
  job.set_partition_count(256);
  v1::OptimizerSpec& optimizer = *job.mutable_tables(0)->mutable_optimizer();
  optimizer.set_kind(v1::OPTIMIZER_KIND_ADAGRAD);
  optimizer.set_learning_rate(0.02f);
  optimizer.set_initial_accumulator(0.1f);
  optimizer.set_epsilon(1e-10f);
  return job;
}

// Gives every partition its share of the rows.
void Fill(ps::Shard& shard, uint64_t rows) {
  std::vector<std::vector<uint64_t>> keys(256);
  const v1::TableSpec& table = shard.catalog().job().tables(0);
  for (uint64_t i = 0; i < rows; ++i) {
    const uint64_t key = Mix64(i);
    keys[static_cast<size_t>(Raw(PartitionOfKey(key, table.seed(), 256)))].push_back(key);
  }
  std::vector<float> state;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto index = static_cast<PartitionIndex>(i);
    ps::PartitionContent content =
        *ps::InitialContent(shard.catalog(), index, Timeline{1}, shard.slabs());
    Table& part = *content.store->tables()[0];
    state.assign(part.dim() + part.slot_count(), 0.5f);
    for (uint64_t key : keys[i]) {
      CAPSTAN_CHECK(part.RestoreRow({.key = key, .frequency = 1, .state = state}).ok());
    }
    shard.Load(index, std::move(content));
  }
}

double ResidentMiB() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * 4096 / (1 << 20);
}

struct Saved {
  double seconds = 0;
  double mib = 0;
  double extra_mib = 0;  // The highest resident size, above that before.
};

Saved Save(ps::Saver& saver, const v1::SavePartitionsRequest& order) {
  malloc_trim(0);  // What is kept from before would hide what this takes.
  const double before = ResidentMiB();
  const absl::Time begin = absl::Now();
  Saved saved;
  absl::StatusOr<v1::SavePartitionsReply> reply = saver.Order(order);
  while (reply.ok() && !reply->done()) {
    absl::SleepFor(absl::Milliseconds(5));
    saved.extra_mib = std::max(saved.extra_mib, ResidentMiB() - before);
    reply = saver.Order(order);
  }
  CAPSTAN_CHECK(reply.ok());
  saved.seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  v1::Manifest manifest;
  manifest.set_id(order.id());
  manifest.set_parent(order.parent());
  *manifest.mutable_job() = Job();
  *manifest.mutable_files() = reply->files();
  for (const v1::SavedFile& file : reply->files()) {
    saved.mib += static_cast<double>(file.bytes()) / (1 << 20);
  }
  CAPSTAN_CHECK(WriteManifest(**OpenObjectStore(order.uri()), manifest).ok());
  return saved;
}

void PrintPhase(const char* name, LoadRecord::OfPhase& of) {
  std::vector<float> seconds(of.pull_seconds.begin(), of.pull_seconds.begin() + of.pulls);
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double share) {
    return 1e3 * seconds[static_cast<size_t>(share * static_cast<double>(seconds.size() - 1))];
  };
  std::printf("%-6s %8.1f steps/s  pull p50 %6.2f  p99 %6.2f  p99.9 %6.2f  max %6.2f ms\n", name,
              static_cast<double>(of.pulls) / of.seconds, at(.5), at(.99), at(.999), at(1));
}

v1::SavePartitionsRequest OrderOf(const std::string& folder, const std::string& id) {
  v1::SavePartitionsRequest order;
  order.mutable_header()->set_timeline(1);
  order.set_uri(absl::StrCat(folder, "/", id));
  order.set_id(id);
  return order;
}

void Load(LocalShards& shards, const std::string& uri, uint64_t timeline) {
  v1::LoadPartitionsRequest order = shards.LoadOrder(0);
  order.mutable_header()->set_timeline(timeline);
  order.set_uri(uri);
  absl::StatusOr<v1::LoadPartitionsReply> reply = shards.at(0).loader().Order(order);
  while (reply.ok() && !reply->done()) {
    absl::SleepFor(absl::Milliseconds(5));
    reply = shards.at(0).loader().Order(order);
  }
  CAPSTAN_CHECK(reply.ok());
  const double mib = static_cast<double>(reply->bytes()) / (1 << 20);
  std::printf("restore: %.0f MiB in %.2f s, %.0f MB/s\n", mib, reply->seconds(),
              mib * 1.048576 / reply->seconds());
}

void Run(const std::string& folder) {
  const double mib = Setting("CAPSTAN_BENCH_MIB", 2048);
  const absl::Duration length = absl::Seconds(Setting("CAPSTAN_BENCH_SECONDS", 10));
  const v1::JobSpec job = Job();
  constexpr double kRowBytes = 8 + 8 + 4 * 2 * kDim;
  const auto rows = static_cast<uint64_t>(mib * (1 << 20) / kRowBytes);
  LoadRecord* const record = NewLoadRecord();
  const pid_t client = StartClient(
      job, {.port = kPort, .rows = rows, .hot_rows = rows / 20, .batch = kBatch}, record);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(0, &cores);
  sched_setaffinity(0, sizeof(cores), &cores);
  LocalShards shards(job, 1, kPort);
  Fill(shards.at(0).shard(), rows);
  std::printf("%lu rows, %.0f MiB resident\n", static_cast<unsigned long>(rows), ResidentMiB());
  const auto enter = [&](Phase phase) { record->phase = static_cast<int>(phase); };
  enter(Phase::kFull);
  absl::SleepFor(length);
  // In turns, so that what else the machine does falls on both.
  Saved full;
  for (int turn = 0; turn < Setting("CAPSTAN_BENCH_TURNS", 2); ++turn) {
    enter(Phase::kIdle);
    absl::SleepFor(length);
    enter(Phase::kSave);
    full = Save(shards.at(0).saver(), OrderOf(folder, absl::StrCat("1-", turn)));
  }
  enter(Phase::kWait);
  absl::SleepFor(absl::Milliseconds(200));
  // A base without load, then changes of a part of the rows.
  const Saved quiet = Save(shards.at(0).saver(), OrderOf(folder, "2-b"));
  enter(Phase::kDelta);
  absl::SleepFor(length);
  enter(Phase::kWait);
  absl::SleepFor(absl::Milliseconds(200));
  v1::SavePartitionsRequest order = OrderOf(folder, "3-c");
  order.set_parent("2-b");
  const Saved delta = Save(shards.at(0).saver(), order);
  enter(Phase::kEnd);
  waitpid(client, nullptr, 0);
  for (auto [name, phase] :
       {std::pair{"full", Phase::kFull}, {"idle", Phase::kIdle}, {"save", Phase::kSave}}) {
    PrintPhase(name, record->phases[static_cast<size_t>(phase)]);
  }
  std::printf("save under load: %.0f MiB in %.2f s, %.1f MiB extra\n", full.mib, full.seconds,
              full.extra_mib);
  std::printf("save without:    %.0f MiB in %.2f s\n", quiet.mib, quiet.seconds);
  std::printf("delta:           %.0f MiB in %.2f s\n", delta.mib, delta.seconds);
  CPU_SET(1, &cores);
  sched_setaffinity(0, sizeof(cores), &cores);
  Load(shards, absl::StrCat(folder, "/2-b"), 2);
  Load(shards, absl::StrCat(folder, "/3-c"), 3);
}

}  // namespace
}  // namespace capstan::bench

int main(int argc, char** argv) {
  // As a shard does.
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  const std::string folder =
      argc > 1 ? argv[1] : std::filesystem::temp_directory_path() / "capstan-checkpoint-bench";
  const bool is_folder = !folder.starts_with("s3://");
  if (is_folder) std::filesystem::remove_all(folder);
  capstan::bench::Run(folder);
  if (is_folder) std::filesystem::remove_all(folder);
  return 0;
}
