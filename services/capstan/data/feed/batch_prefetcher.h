// Reads ahead: a thread loads tasks and cuts batches before they are asked for.
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

// Names a feed: a sequence of tasks whose batches are numbered from 0 across all of them. The feed
// of a lease on a task has one task, that of a lane many.
enum class FeedId : uint64_t {};

struct FedBatch {
  std::shared_ptr<const Batch> batch;  // Owned by the feed (until a later one is asked for) and the
                                       // caller. Null: the feed ended before `number`.
  uint64_t number = 0;                 // In the feed. At the end: how many batches the feed had.
  uint64_t task = 0;                   // Place of the batch's task in the feed, from 0.
  uint64_t batch_in_task = 0;
  bool last_of_task = false;
};

// What a task turned out to hold; exact once it has been loaded.
struct FedTask {
  bool loaded = false;
  uint64_t batches = 0;
  uint64_t examples = 0;
  uint64_t bytes = 0;  // LoadedTask::bytes().
  // Owned by all copies; null: the task has no bad records.
  std::shared_ptr<const BadRecords> bad_records;
};

// A worker with many lanes has many feeds, and batches of images are large. 64 MiB of batches of
// all its feeds together are enough to keep the threads that compute at work: so much is cut beyond
// what was asked for, and as much may be asked for ahead of what is worked on.
inline constexpr uint64_t kReadAheadBytes = 64 << 20;

// So many feeds of each thread that computes hold their tasks as they were parsed. A thread that
// trains on tasks has fewer, and one with more has lanes that wait for each other: what it takes to
// pack a task (LoadedTask::PackKeys), and to cut batches of it, is a small part of its time.
inline constexpr uint64_t kUnpackedFeeds = 4;

struct PrefetchOptions {
  uint32_t batches_ahead = 2;  // Batches of a feed that are cut beyond the one last asked for.
  // While the feeds together hold at least so many bytes of such batches, only feeds whose reader
  // waits go on. So one batch may be beyond this limit.
  uint64_t bytes_ahead = kReadAheadBytes;
  // While more feeds than these are open, tasks are packed when they are loaded.
  uint64_t unpacked_feeds = kUnpackedFeeds;
  // How long the destructor waits for a file that is being read.
  absl::Duration parting = absl::Seconds(2);
};

// A worker process has one prefetcher, which serves all its leases. It works first for feeds whose
// reader waits. For each feed it holds one loaded task and the batch last asked for, and beyond
// that what PrefetchOptions allows. Thread-safe.
class BatchPrefetcher {
 public:
  // Starts the thread. `source` is owned by this object, by its thread and by whoever made it.
  BatchPrefetcher(ReaderOptions reader, PrefetchOptions options,
                  std::shared_ptr<const Source> source);
  // Closes all feeds and ends the thread. Waits at most `parting` for the thread to finish what it
  // is reading; after that the thread is detached. Callers that wait for a batch are notified from
  // the calling thread.
  ~BatchPrefetcher();

  // Opens a feed without tasks. The first batch that will be asked for is `first`; earlier ones are
  // not cut.
  FeedId Open(uint64_t first);
  void Append(FeedId feed, TaskReader::Load task);
  void Finish(FeedId feed);  // No tasks will be appended.
  void Close(FeedId feed);   // Idempotent; does nothing for feeds that never were open.

  // Returns batch `number` if it is cut, or the end of the feed, or the error of reading it, which
  // every later call returns too. Otherwise returns nullopt, and `notify` is called once, when it
  // is worth asking again or the feed is closed: on the prefetcher's thread, or in the destructor.
  // `notify` must not block and must not call the prefetcher. A later call replaces `notify`.
  // CANCELLED: there is no such feed. REQUIRES: `number` is at least the number last asked for; the
  // same may be asked for again.
  std::optional<absl::StatusOr<FedBatch>> TryRead(FeedId feed, uint64_t number,
                                                  std::function<void()> notify);

  // As TryRead, but waits for the batch. DEADLINE_EXCEEDED: it was not cut by `deadline`.
  absl::StatusOr<FedBatch> Read(FeedId feed, uint64_t number, absl::Time deadline);

  // Returns the read of a file that the thread is in; nothing: it is not reading one.
  std::optional<ReadUnderWay> read_under_way() const;

  // Returns what the task at `place` of the feed, from 0, holds. Its `loaded` is false if the task
  // is not loaded yet or is forgotten.
  FedTask TaskAt(FeedId feed, uint64_t place) const;
  // Forgets the loaded tasks of the feed before `place`; TaskAt will not be asked for them again.
  void Forget(FeedId feed, uint64_t place);

 private:
  class Impl;
  // Owned by this object and by the thread, which may be in a read that never returns.
  std::shared_ptr<Impl> impl_;
  std::thread thread_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FEED_BATCH_PREFETCHER_H_
