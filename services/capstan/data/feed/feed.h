// One feed of the prefetcher: which task to load and which batch to cut next. Knows no thread.
#ifndef CAPSTAN_DATA_FEED_FEED_H_
#define CAPSTAN_DATA_FEED_FEED_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/data/feed/batch_prefetcher.h"
#include "capstan/data/tasks/task_reader.h"

namespace capstan {

// NextWork hands out a piece of work, which the caller does and whose result it hands back with
// Loaded or Cut. Thread-compatible.
class Feed {
 public:
  Feed(uint64_t first, uint32_t batches_ahead) : wanted_(first), ahead_(batches_ahead) {}

  void Append(TaskReader::Load task);
  void Finish() { finished_ = true; }

  // Returns batch `number`, the end of the feed or the error of reading it; nullopt: the batch is
  // not cut yet. REQUIRES: `number` is at least the number last asked for.
  std::optional<absl::StatusOr<FedBatch>> Ask(uint64_t number);

  struct Work {
    std::optional<TaskReader::Load> load;    // Load this task, or
    std::shared_ptr<const LoadedTask> task;  // cut `batch_in_task` of this one.
    uint64_t batch_in_task = 0;
  };
  // Returns the next piece of work. A task is loaded as soon as the one before it is cut to its
  // end, which then takes no memory any more. Nullopt: enough is cut ahead, no task waits, the feed
  // is broken, or the last piece of work has not been handed back.
  std::optional<Work> NextWork();
  void Loaded(absl::StatusOr<std::shared_ptr<const LoadedTask>> task);
  void Cut(absl::StatusOr<std::shared_ptr<const Batch>> batch);

  // Returns what the task at `place` of the feed, from 0, holds. Its `loaded` is false if the task
  // is not loaded yet or is forgotten.
  FedTask TaskAt(uint64_t place) const;
  // Forgets the loaded tasks before `place`; TaskAt will not be asked for them again.
  void Forget(uint64_t place);
  // Returns how many tasks take memory here: those waiting, and those loaded and not forgotten.
  size_t tasks_kept() const { return waiting_.size() + tasks_.size(); }
  // Returns the bytes of the batches that are cut beyond the one last asked for.
  uint64_t bytes_ahead() const;

 private:
  uint64_t begin_of_next_task() const { return base_ + loaded_->batch_count(); }

  std::deque<TaskReader::Load> waiting_;  // Tasks that nobody has begun to load.
  std::deque<FedTask> tasks_;             // Loaded tasks, from the place forgotten_ on.
  uint64_t forgotten_ = 0;
  bool finished_ = false;

  std::deque<FedBatch> ready_;  // Numbers ascend; the front may be the one last handed out.
  uint64_t wanted_;             // The number last asked for.
  const uint64_t ahead_;

  std::shared_ptr<const LoadedTask> loaded_;  // The task being cut; null: the next is to be loaded.
  uint64_t task_ = 0;                         // Place of the task being cut.
  uint64_t base_ = 0;                         // Number of the first batch of that task.
  uint64_t next_ = 0;                         // Number of the batch to be cut next.
  bool working_ = false;
  absl::Status broken_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FEED_FEED_H_
