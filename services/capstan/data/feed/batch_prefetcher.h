// Reads ahead: a thread that loads tasks and cuts batches before they are asked for.
#ifndef CAPSTAN_DATA_FEED_BATCH_PREFETCHER_H_
#define CAPSTAN_DATA_FEED_BATCH_PREFETCHER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/watched_source.h"
#include "capstan/data/tasks/task_reader.h"

namespace capstan {

// A sequence of tasks whose batches are numbered through: one task for a lease on a task, many for
// a lane.
enum class FeedId : uint64_t {};

struct FedBatch {
  std::shared_ptr<const Batch> batch;  // Owned by the feed (until a later one is asked for) and the
                                       // caller. Null: the feed ended before `number`.
  uint64_t number = 0;                 // In the feed. At the end: how many batches the feed had.
  uint64_t task = 0;                   // Place of its task in the feed, from 0.
  uint64_t batch_in_task = 0;
  bool last_of_task = false;
};

// What a task turned out to hold; exact once it has been loaded.
struct FedTask {
  bool loaded = false;
  uint64_t batches = 0;
  uint64_t examples = 0;
  // Owned by all copies; null: there are none.
  std::shared_ptr<const BadRecords> bad_records;
};

struct PrefetchOptions {
  uint32_t batches_ahead = 2;  // Per feed, beyond the one asked for.
  // How long the end waits for a file that is being read.
  absl::Duration parting = absl::Seconds(2);
};

// One for a worker process, serving all its leases. Feeds whose reader waits come first. Per feed,
// one loaded task and batches_ahead batches are held. Thread-safe.
class BatchPrefetcher {
 public:
  // Starts the thread. `source` is owned by this object, by its thread and by whoever made it.
  BatchPrefetcher(ReaderOptions reader, PrefetchOptions options,
                  std::shared_ptr<const Source> source);
  // Closes all feeds and ends the thread: a file being read is finished first, unless that takes
  // longer than `parting`; then the thread is left behind.
  ~BatchPrefetcher();

  // A new feed without tasks. The reader begins with batch `first`: those before it are not cut.
  FeedId Open(uint64_t first);
  void Append(FeedId feed, TaskReader::Load task);
  void Finish(FeedId feed);  // No tasks follow.
  void Close(FeedId feed);   // Idempotent; also for feeds that never were.

  // Batch `number`, if it is there, or the end, or why the feed is broken (then always). Otherwise
  // nullopt, and `notify` is called once, on the prefetcher's thread, when it is worth asking
  // again; also when the feed is closed. `notify` must not block and not call back. A later call
  // replaces `notify`. REQUIRES: `number` is at least what was asked last; asking for the same
  // again is allowed. An unknown feed is CANCELLED.
  std::optional<absl::StatusOr<FedBatch>> TryRead(FeedId feed, uint64_t number,
                                                  std::function<void()> notify);

  // As TryRead, but waits for the batch. DEADLINE_EXCEEDED: it has not come by then.
  absl::StatusOr<FedBatch> Read(FeedId feed, uint64_t number, absl::Time deadline);

  // What the thread waits for; nothing: it does not wait for a file.
  std::optional<ReadUnderWay> read_under_way() const;

  // The task at a place of the feed, from 0; not loaded: it is to come, or is forgotten.
  FedTask TaskAt(FeedId feed, uint64_t place) const;
  // Nobody asks for the tasks of the feed before `place` any more.
  void Forget(FeedId feed, uint64_t place);

 private:
  class Impl;
  // Owned by this object and by the thread, which may be in a read that never returns.
  std::shared_ptr<Impl> impl_;
  std::thread thread_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FEED_BATCH_PREFETCHER_H_
