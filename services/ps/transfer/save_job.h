// One save that the chief has ordered: a file for each partition of the shard.
#ifndef CAPSTAN_PS_TRANSFER_SAVE_JOB_H_
#define CAPSTAN_PS_TRANSFER_SAVE_JOB_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/checkpoint/partition_encoder.h"
#include "capstan/checkpoint/partition_pack.h"
#include "capstan/store/memory_limits.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/partition.h"
#include "ps/shard/shard.h"
#include "ps/transfer/outside.h"

namespace capstan::ps {

// One thread calls Mark(), then Run(), which uses more threads of the background; Cancel() and the
// numbers may be called by any thread. A copy is written to the object store while it is being
// read, and the next partition is begun when the store has accepted the last one. Reading is at
// most kWaitingForStoreLimit bytes ahead of the store, unless training would have to wait because
// of that: if the shard keeps as much of the former state of rows and blocks for its copies as it
// may, the copy is read to its end at once, and waits in memory.
class SaveJob {
 public:
  // `shard` must outlive the job. `may_wait`: how many bytes reading may be ahead of the store.
  SaveJob(Shard& shard, const v1::SavePartitionsRequest& order, Outside outside,
          size_t may_wait = kWaitingForStoreLimit);

  // If a part is synchronous, begins the copies of all partitions, so that all are saved as of this
  // moment. Otherwise does nothing: Run() begins the copies one after the other. If a copy cannot
  // be begun, Run() abandons those that were, and returns the error.
  void Mark();

  // Reads the copies of the partitions in pieces, and writes them. CANCELLED: Cancel() was called;
  // FAILED_PRECONDITION: the timeline has ended; other errors are those of the object store.
  absl::Status Run();
  void Cancel() { cancelled_ = true; }

  uint64_t partitions_saved() const { return saved_; }
  uint64_t bytes() const { return bytes_; }
  // How many bytes the store has accepted so far, including files that are not complete yet. The
  // number grows as long as the save makes progress.
  uint64_t taken() const { return taken_; }
  // REQUIRES: Run() has returned OK.
  const std::vector<v1::SavedFile>& files() const { return files_; }

 private:
  struct Item {
    PartitionIndex index{};
    Partition* partition = nullptr;
    std::optional<PartitionCopy> copy = {};  // Set once the copy was begun.
  };

  absl::Status MarkAll();
  absl::Status Begin(Item& item);
  absl::Status SaveAll();
  // Returns when at most may_wait_ bytes wait for the store, or training would have to wait.
  // CANCELLED: Cancel() was called.
  absl::Status WaitForStore(const PartitionPack& pack) const;
  // Adds the partition to the pack.
  absl::Status Copy(Item& item, PartitionPack& pack);
  absl::Status Publish(PartitionPack& pack);
  absl::Status TimelineIsOver(const Item& item) const;

  Shard& shard_;
  const v1::SavePartitionsRequest order_;
  const Outside outside_;
  const size_t may_wait_;
  std::vector<Item> items_;
  absl::Status marked_;               // The result of Mark().
  std::vector<v1::SavedFile> files_;  // The files that are in the store.
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> saved_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> taken_{0};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_SAVE_JOB_H_
