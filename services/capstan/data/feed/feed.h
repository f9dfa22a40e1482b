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

// Thread-compatible. Work is taken off with NextWork, done elsewhere, and handed back with Loaded
// or Cut.
class Feed {
 public:
  Feed(uint64_t first, uint32_t batches_ahead) : wanted_(first), ahead_(batches_ahead) {}

  void Append(TaskReader::Load task);
  void Finish() { finished_ = true; }

  // What is there to answer with; nullopt: not yet. REQUIRES: number >= the last one asked.
  std::optional<absl::StatusOr<FedBatch>> Ask(uint64_t number);

  struct Work {
    std::optional<TaskReader::Load> load;    // Load this task, or
    std::shared_ptr<const LoadedTask> task;  // cut `batch_in_task` of this one.
    uint64_t batch_in_task = 0;
  };
  // Nullopt: nothing may be done ahead, or what was taken off is still being done.
  std::optional<Work> NextWork();
  void Loaded(absl::StatusOr<std::shared_ptr<const LoadedTask>> task);
  void Cut(absl::StatusOr<std::shared_ptr<const Batch>> batch);

  // The task at a place of the feed, from 0; not loaded: it is to come, or is forgotten.
  FedTask TaskAt(uint64_t place) const;
  // Nobody asks for those before `place` any more. Only what has been loaded is forgotten.
  void Forget(uint64_t place);
  // Tasks of which something is kept: those to come, and those loaded and not forgotten.
  size_t tasks_kept() const { return waiting_.size() + tasks_.size(); }

 private:
  uint64_t begin_of_next_task() const { return base_ + loaded_->batch_count(); }

  std::deque<TaskReader::Load> waiting_;  // Tasks that nobody has begun to load.
  std::deque<FedTask> tasks_;             // Those that are loaded, from the place forgotten_ on.
  uint64_t forgotten_ = 0;
  bool finished_ = false;

  std::deque<FedBatch> ready_;  // Numbers ascend; the front may be the one last handed out.
  uint64_t wanted_;             // The number last asked for.
  const uint64_t ahead_;

  std::shared_ptr<const LoadedTask> loaded_;  // The task being cut; null: the next is to be loaded.
  uint64_t task_ = 0;                         // Its place.
  uint64_t base_ = 0;                         // Number of its first batch.
  uint64_t next_ = 0;                         // Number of the batch to be cut next.
  bool working_ = false;
  absl::Status broken_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FEED_FEED_H_
