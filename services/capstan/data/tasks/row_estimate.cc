#include "capstan/data/tasks/row_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "capstan/base/divide.h"
#include "capstan/base/hash.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan {
namespace {

constexpr uint64_t kRecordsLookedAt = 200'000;

// Adds the rows that the batch needs. A key in the table of one feature is a different row from the
// same key in another table, so keys of data.features are mixed with the table's name.
void AddRows(const Batch& batch, const v1::JobSpec& job, absl::flat_hash_set<uint64_t>& rows) {
  rows.insert(batch.keys.begin(), batch.keys.end());
  for (size_t i = 0; i < batch.features.size(); ++i) {
    const uint64_t table = HashText(job.data().features(static_cast<int>(i)).table());
    for (const uint64_t key : batch.features[i].keys) rows.insert(Mix64(key ^ table));
    if (i != batch.negatives.feature) continue;
    for (const uint64_t key : batch.negatives.keys) rows.insert(Mix64(key ^ table));
  }
}

RowCount CountRows(const LoadedTask& task, const v1::JobSpec& job) {
  RowCount count;
  absl::flat_hash_set<uint64_t> keys;
  Batch batch;
  const uint64_t records = std::min(task.examples(), kRecordsLookedAt);
  for (uint64_t k = 0; k < task.batch_count() && count.records < records; ++k) {
    if (!task.ReadBatch(k, batch).ok()) break;
    absl::flat_hash_set<uint64_t> own;
    AddRows(batch, job, own);
    keys.insert(own.begin(), own.end());
    // The last batch of a task may be a small one.
    if (count.batches == 0 || batch.examples() == job.train().batch_size()) {
      ++count.batches;
      count.rows_by_batch += own.size();
    }
    count.records += batch.examples();
    if (2 * count.records <= records) count.rows_of_half = keys.size();
  }
  count.rows = keys.size();
  return count;
}

}  // namespace

uint64_t ExpectedRows(const RowCount& count, uint64_t records) {
  if (count.records == 0 || records <= count.records) return count.rows;
  // A single batch does not show how the number grows, so all further keys are assumed to be new.
  const double growth =
      count.rows_of_half == 0
          ? 1
          : std::log2(static_cast<double>(count.rows) / static_cast<double>(count.rows_of_half));
  const double times = static_cast<double>(records) / static_cast<double>(count.records);
  return static_cast<uint64_t>(static_cast<double>(count.rows) *
                               std::pow(times, std::clamp(growth, 0.0, 1.0)));
}

RowEstimate EstimateRows(const v1::JobSpec& job, const Source& source, const TaskRanges& train) {
  if (job.tables().empty() || train.empty()) return {};
  ReaderOptions options = ReaderOptionsOf(job);
  // Bad records are reported elsewhere.
  options.data.set_max_bad_records(std::numeric_limits<uint64_t>::max());
  TaskReader reader(std::move(options), source);
  const absl::StatusOr<std::shared_ptr<const LoadedTask>> first =
      reader.Read({.task = train.TaskAt(0), .packed = true});
  if (!first.ok()) return {};
  const uint64_t expected = train.expected_records();
  // If the records are not counted, all tasks are assumed to be as large as the first.
  const uint64_t records = expected > 0 ? expected : (*first)->examples() * train.size();
  const RowCount count = CountRows(**first, job);
  return {.rows = ExpectedRows(count, records),
          .keys_a_batch = count.batches > 0 ? count.rows_by_batch / count.batches : 0,
          .packed_record_bytes =
              DivideUp((*first)->bytes(), std::max<uint64_t>((*first)->examples(), 1))};
}

}  // namespace capstan
