// One feed of the prefetcher: which task to load and which batch to cut next. Uses no threads.
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

// NextWork returns a piece of work, which the caller does and whose result it passes to Loaded or
// Cut. Thread-compatible.
class Feed {
 public:
  Feed(uint64_t first, uint32_t batches_ahead) : wanted_(first), ahead_(batches_ahead) {}

  void Append(TaskReader::Load task);
  void Finish() { finished_ = true; }

  // Returns batch `number`, the end of the feed or the error of reading it; nullopt if the batch is
  // not cut yet. REQUIRES: `number` is at least the last requested number.
  std::optional<absl::StatusOr<FedBatch>> Ask(uint64_t number);

  struct Work {
    std::optional<TaskReader::Load> load;    // Load this task, or
    std::shared_ptr<const LoadedTask> task;  // cut `batch_in_task` of this one.
    uint64_t batch_in_task = 0;
  };
  // Returns the next piece of work. A task is loaded as soon as the one before it is cut
  // completely, which then takes no more memory. nullopt: enough is cut ahead, no task waits,
  // reading has failed, or the result of the last piece of work was not passed back yet.
  std::optional<Work> NextWork();
  void Loaded(absl::StatusOr<std::shared_ptr<const LoadedTask>> task);
  void Cut(absl::StatusOr<std::shared_ptr<const Batch>> batch);

  // Returns the size of the task at index `place` of the feed, from 0. `loaded` is false if the
  // task is not loaded yet or was forgotten.
  FedTask TaskAt(uint64_t place) const;
  // Forgets the loaded tasks before `place`; TaskAt must not be called for them again.
  void Forget(uint64_t place);
  // Returns how many tasks take memory here: those that wait, and those that are loaded and not
  // forgotten.
  size_t tasks_kept() const { return waiting_.size() + tasks_.size(); }
  // Returns the size in bytes of the batches that are cut beyond the last requested one.
  uint64_t bytes_ahead() const;

 private:
  uint64_t begin_of_next_task() const { return base_ + loaded_->batch_count(); }

  std::deque<TaskReader::Load> waiting_;  // Tasks whose loading has not begun.
  std::deque<FedTask> tasks_;             // Loaded tasks, beginning with the index forgotten_.
  uint64_t forgotten_ = 0;
  bool finished_ = false;

  std::deque<FedBatch> ready_;  // In ascending order; the first may be the one last returned.
  uint64_t wanted_;             // The last requested number.
  const uint64_t ahead_;

  std::shared_ptr<const LoadedTask> loaded_;  // The task being cut; null: the next must be loaded.
  uint64_t task_ = 0;                         // The index of the task being cut.
  uint64_t base_ = 0;                         // The number of the first batch of that task.
  uint64_t next_ = 0;                         // The number of the batch to be cut next.
  bool working_ = false;
  absl::Status broken_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FEED_FEED_H_
