#include "cli/model/read_cost.h"

#include <time.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan::cli {
namespace {

double ThreadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

double ReadSecondsABatch(const v1::JobSpec& job, const Source& source, const TaskRanges& train) {
  if (train.empty()) return 0;
  ReaderOptions options = ReaderOptionsOf(job);
  // Bad records are counted in training.
  options.data.set_max_bad_records(std::numeric_limits<uint64_t>::max());
  TaskReader reader(std::move(options), source);
  const double begin = ThreadCpuSeconds();
  const absl::StatusOr<std::shared_ptr<const LoadedTask>> task =
      reader.Read({.task = train.TaskAt(0)});
  if (!task.ok()) return 0;
  Batch batch;
  uint64_t batches = 0;
  while (batches < (*task)->batch_count() && (*task)->ReadBatch(batches, batch).ok()) ++batches;
  return batches == 0 ? 0 : (ThreadCpuSeconds() - begin) / static_cast<double>(batches);
}

}  // namespace capstan::cli
