// Reads ahead: a thread loads tasks and cuts batches before they are requested.
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

// Identifies a feed: a sequence of tasks whose batches are numbered from 0 across all of them. The
// feed of a lease on a task has one task, that of a lane many.
enum class FeedId : uint64_t {};

struct FedBatch {
  // Shared by the feed (until a later one is requested) and the caller. Null: the feed ended before
  // `number`.
  std::shared_ptr<const Batch> batch;
  uint64_t number =
      0;              // The batch's number in the feed. At the end: how many batches the feed had.
  uint64_t task = 0;  // The index of the batch's task in the feed, from 0.
  uint64_t batch_in_task = 0;
  bool last_of_task = false;
};

// The size of a task; exact once it has been loaded.
struct FedTask {
  bool loaded = false;
  uint64_t batches = 0;
  uint64_t examples = 0;
  uint64_t bytes = 0;  // LoadedTask::bytes().
  // Shared by all copies; null if the task has no bad records.
  std::shared_ptr<const BadRecords> bad_records;
};

// A worker with many lanes has many feeds, and batches of images are large. 64 MiB of batches in
// all its feeds together are enough to keep the computing threads busy: this much is cut beyond
// what was requested, and the same amount may be requested ahead of what is being worked on.
inline constexpr uint64_t kReadAheadBytes = 64 << 20;

// For this many feeds per computing thread, tasks are kept in the form in which they were parsed. A
// thread that trains on tasks has fewer feeds, and one with more has lanes that wait for each
// other: the time to pack a task (LoadedTask::PackKeys), and to cut batches from it, is a small
// part of its time.
inline constexpr uint64_t kUnpackedFeeds = 4;

struct PrefetchOptions {
  uint32_t batches_ahead = 2;  // How many batches of a feed are cut beyond the last requested one.
  // While the feeds together have at least this many bytes of such batches, only feeds whose reader
  // is waiting continue. So one batch may exceed this limit.
  uint64_t bytes_ahead = kReadAheadBytes;
  // While more feeds than this are open, tasks are packed when they are loaded.
  uint64_t unpacked_feeds = kUnpackedFeeds;
  // How long the destructor waits for a file that is being read.
  absl::Duration parting = absl::Seconds(2);
};

// A worker process has one prefetcher, which serves all its leases. It works first for feeds whose
// reader is waiting. For each feed it keeps one loaded task and the last requested batch, and in
// addition what PrefetchOptions allows. Thread-safe.
class BatchPrefetcher {
 public:
  // Starts the thread. `source` is shared by this object, its thread and its creator.
  BatchPrefetcher(ReaderOptions reader, PrefetchOptions options,
                  std::shared_ptr<const Source> source);
  // Closes all feeds and ends the thread. Waits at most `parting` for the thread to finish what it
  // is reading; after that the thread is detached. Callers that wait for a batch are notified from
  // the calling thread.
  ~BatchPrefetcher();

  // Opens a feed without tasks. The first requested batch will be `first`; earlier ones are not
  // cut.
  FeedId Open(uint64_t first);
  void Append(FeedId feed, TaskReader::Load task);
  void Finish(FeedId feed);  // No more tasks will be appended.
  void Close(FeedId feed);   // Idempotent; does nothing for feeds that were never open.

  // Returns batch `number` if it is cut, or the end of the feed, or the error of reading it, which
  // every later call returns too. Otherwise returns nullopt, and `notify` is called once, when it
  // is worth calling again or the feed is closed: on the prefetcher's thread, or in the destructor.
  // `notify` must not block and must not call the prefetcher. A later call replaces `notify`.
  // CANCELLED: there is no such feed. REQUIRES: `number` is at least the last requested number; the
  // same may be requested again.
  std::optional<absl::StatusOr<FedBatch>> TryRead(FeedId feed, uint64_t number,
                                                  std::function<void()> notify);

  // As TryRead, but waits for the batch. DEADLINE_EXCEEDED: it was not cut by `deadline`.
  absl::StatusOr<FedBatch> Read(FeedId feed, uint64_t number, absl::Time deadline);

  // Returns the read of a file in which the thread is; nullopt if it is not reading one.
  std::optional<ReadUnderWay> read_under_way() const;

  // Returns the size of the task at index `place` of the feed, from 0. `loaded` is false if the
  // task is not loaded yet or was forgotten.
  FedTask TaskAt(FeedId feed, uint64_t place) const;
  // Forgets the loaded tasks of the feed before `place`; TaskAt must not be called for them again.
  void Forget(FeedId feed, uint64_t place);

 private:
  class Impl;
  // Shared by this object and the thread, which may be in a read that never returns.
  std::shared_ptr<Impl> impl_;
  std::thread thread_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FEED_BATCH_PREFETCHER_H_
