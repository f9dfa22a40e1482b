// The batches of one lease, by the numbers that its runner uses: a batch's place in the task, or
// the lane's cursor.
#ifndef CAPSTAN_WORKER_SHELL_BATCH_FEED_H_
#define CAPSTAN_WORKER_SHELL_BATCH_FEED_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "capstan/base/ids.h"
#include "capstan/data/feed/batch_prefetcher.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/chief.pb.h"
#include "worker/session/lease_lifecycle.h"

namespace capstan::worker {

struct LeaseBatch {
  std::shared_ptr<const Batch> batch;  // Null: the lease ends before the number that was asked for.
  uint64_t end = 0;                    // If `batch` is null: how many batches there are.
  StreamId stream;                     // The batch's name as a push.
  uint64_t seq = 0;
};

// Confined to the event loop.
class BatchFeed final : public TasksRead {
 public:
  using OnRead = absl::AnyInvocable<void(absl::StatusOr<LeaseBatch>)>;

  // `prefetcher` and `loop` must outlive the feed.
  BatchFeed(BatchPrefetcher& prefetcher, EventLoop& loop, const v1::Lease& lease);
  ~BatchFeed() override;  // Reads that are not answered yet never are.
  BatchFeed(const BatchFeed&) = delete;
  BatchFeed& operator=(const BatchFeed&) = delete;

  // Reads batch `number` and calls `on_read` with it; numbers ascend. Calls come in order, the
  // first perhaps before this returns.
  void Read(uint64_t number, OnRead on_read);

  // Takes the lane's tasks as the chief has sent them again; those that are new are appended.
  void Extend(const v1::Lease& lease);

  std::vector<v1::LaneTaskDone> TakeDone(uint64_t cursor) override;
  bool HasDone(uint64_t cursor) const override;
  uint64_t tasks_known() const override { return next_ordinal_; }
  FedTask OnlyTask() const override;

  // How many tasks the feed keeps: those that TakeDone() has not returned, and those still being
  // read.
  size_t tasks_kept() const { return tasks_.size(); }

 private:
  struct Task {
    uint64_t ordinal = 0;
    StreamId stream;
  };
  struct Wanted {
    uint64_t number = 0;
    OnRead on_read;
  };
  void Append(const v1::LaneTask& task);
  void OpenAt(uint64_t number);
  void Serve();
  // Returns the first task that TakeDone() has not returned, if all of its batches lie below
  // `cursor`.
  std::optional<FedTask> NextDone(uint64_t cursor) const;
  void Forget();
  LeaseBatch Translate(const FedBatch& fed);

  BatchPrefetcher& prefetcher_;
  EventLoop& loop_;
  const bool evaluation_;
  std::deque<Task> tasks_;  // The feed's tasks from index forgotten_ on.
  uint64_t forgotten_ = 0;
  std::vector<TaskReader::Load> unopened_;  // Kept until the first read says where to begin.
  std::optional<FeedId> feed_;
  bool complete_ = false;  // No further tasks will come.
  uint64_t base_ = 0;      // Number of the feed's batch 0.
  bool base_known_ = false;
  uint64_t next_ordinal_ = 0;  // The ordinal after the last known task.
  uint64_t told_ = 0;          // How many tasks TakeDone() has returned.
  uint64_t reached_ = 0;       // Index of the task that was read last.
  uint64_t told_cursor_ = 0;   // The cursor at which these tasks end.
  std::deque<Wanted> wanted_;  // At most the runner's read-ahead.
  // Shared with notifications under way, which may outlive the feed.
  std::shared_ptr<BatchFeed*> self_ = std::make_shared<BatchFeed*>(this);
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_BATCH_FEED_H_
