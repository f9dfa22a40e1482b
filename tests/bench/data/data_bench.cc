// The input side alone: parsing a click log, removing duplicates, cutting shuffled batches. And the
// shuffled tasks of a file, plain or compressed: CAPSTAN_BENCH_TEXT=FILE data_bench.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "capstan/base/check.h"
#include "capstan/base/permutation.h"
#include "capstan/data/formats/deduplicate.h"
#include "capstan/data/synthetic/click_log.h"
#include "capstan/data/tasks/task_mix.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan {
namespace {

constexpr uint64_t kRows = 200000;
constexpr uint32_t kBatch = 1024;
constexpr uint32_t kPieces = 16;  // As job.yaml has it unless it says otherwise.

// A click log of kRows rows as csv, in a folder that is removed at exit.
class ClickLogFile {
 public:
  ClickLogFile() {
    std::string folder = (std::filesystem::temp_directory_path() / "capstan_bench_XXXXXX").string();
    CAPSTAN_CHECK(::mkdtemp(folder.data()) != nullptr);
    folder_ = folder;
    CAPSTAN_CHECK(WriteClickLog(ClickLog({}), 0, kRows, path()).ok());
  }
  ~ClickLogFile() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/train.csv"; }

 private:
  std::string folder_;
};

ReaderOptions Options(v1::DataFormat format, const std::string& path) {
  ReaderOptions options;
  options.batch_size = kBatch;
  options.data.set_format(format);
  options.data.add_train(path);
  options.data.mutable_synthetic()->set_train_rows(kRows);
  for (uint32_t column = 1; column <= 39; ++column) {
    options.data.add_categorical()->set_column(column);
  }
  CAPSTAN_CHECK(DeriveDataSpec(*NewLocalFiles(), options.data).ok());
  return options;
}

void ReadAll(benchmark::State& state, const ReaderOptions& options) {
  const std::unique_ptr<const Source> files = NewLocalFiles();
  const auto tasks = PlanTasks(*files, options.data, {.batch_size = kBatch});
  CAPSTAN_CHECK(tasks.ok());
  TaskReader reader(options, *files);
  for (auto _ : state) {
    for (const v1::Task& task : tasks->Tasks()) CAPSTAN_CHECK(reader.Read({.task = task}).ok());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kRows));
}

void BM_ReadCsv(benchmark::State& state) {
  const ClickLogFile file;
  ReadAll(state, Options(v1::DATA_FORMAT_CSV, file.path()));
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(std::filesystem::file_size(file.path())));
}
BENCHMARK(BM_ReadCsv)->Unit(benchmark::kMillisecond);

void BM_ReadSynthetic(benchmark::State& state) {
  ReadAll(state, Options(v1::DATA_FORMAT_SYNTHETIC, ""));
}
BENCHMARK(BM_ReadSynthetic)->Unit(benchmark::kMillisecond);

// All tasks of an epoch in any order, cut and mixed as those of a job that says nothing of it. The
// reader has not seen the file before, so where a compressed one can be restarted is learnt in the
// same time.
void BM_ReadShuffledTasks(benchmark::State& state) {
  const char* const path = std::getenv("CAPSTAN_BENCH_TEXT");
  if (path == nullptr) {
    state.SkipWithError("CAPSTAN_BENCH_TEXT must name a csv of the click log");
    return;
  }
  ReaderOptions options = Options(v1::DATA_FORMAT_CSV, path);
  options.data.set_shuffle(true);
  options.data.set_pieces(kPieces);
  const std::unique_ptr<const Source> files = NewLocalFiles();
  const auto ranges = PlanTasks(*files, options.data, {.batch_size = kBatch});
  CAPSTAN_CHECK(ranges.ok());
  const TaskMix tasks(*ranges, options.data, /*seed=*/1);
  const Permutation order(tasks.size(), /*seed=*/2, /*stream=*/0);
  uint64_t records = 0;
  for (auto _ : state) {
    TaskReader reader(options, *files);
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      const auto task = reader.Read({.task = tasks.TaskAt(0, static_cast<uint32_t>(order(i)))});
      CAPSTAN_CHECK(task.ok());
      records += (*task)->examples();
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(records));
}
BENCHMARK(BM_ReadShuffledTasks)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// One batch of the click log: 39,936 keys, about 9,700 of them distinct.
Batch ClickBatch() {
  Batch batch;
  batch.offsets.push_back(0);
  ClickLog({}).AppendTo(0, kBatch, batch);
  return batch;
}

void BM_DeduplicateBatch(benchmark::State& state) {
  const Batch batch = ClickBatch();
  Deduplicator deduplicator;
  UniqueKeys result;
  for (auto _ : state) {
    deduplicator.Run(batch.keys, result);
    benchmark::DoNotOptimize(result.unique.data());
  }
  state.counters["distinct"] = static_cast<double>(result.unique.size());
}
BENCHMARK(BM_DeduplicateBatch)->Unit(benchmark::kMicrosecond);

void BM_CutBatch(benchmark::State& state) {
  Batch records;
  records.offsets.push_back(0);
  ClickLog({}).AppendTo(0, 64 * kBatch, records);
  std::vector<uint32_t> order(records.examples());
  for (uint32_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<uint32_t>(uint64_t{i} * 40503 % order.size());
  }
  const LoadedTask task(std::move(records), BadRecords(0), std::move(order),
                        BatchCut{.size = kBatch});
  Batch batch;
  uint64_t k = 0;
  for (auto _ : state) CAPSTAN_CHECK(task.ReadBatch(k++ % task.batch_count(), batch).ok());
}
BENCHMARK(BM_CutBatch)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace capstan

BENCHMARK_MAIN();
