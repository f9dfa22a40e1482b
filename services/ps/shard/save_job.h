// One save, as the chief ordered it: a file for each partition of the shard.
#ifndef CAPSTAN_PS_SHARD_SAVE_JOB_H_
#define CAPSTAN_PS_SHARD_SAVE_JOB_H_

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
#include "ps/shard/outside.h"
#include "ps/shard/partition.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// Mark(), then Run(), by one thread, which gets help in the background; Cancel() and the numbers by
// any. What is copied goes to the store behind the copying, and the next partition is begun when
// the store has taken the last one. A copy is ahead of the store by at most kWaitingForStoreLimit
// bytes, unless training would have to stop for it: where the shard keeps as many images of rows
// and blocks for its copies as it may, the copy is read to its end at once, and what is read of it
// waits in memory.
class SaveJob {
 public:
  // The shard must outlive it. `may_wait`: so many bytes may be ahead of the store.
  SaveJob(Shard& shard, const v1::SavePartitionsRequest& order, Outside outside,
          size_t may_wait = kWaitingForStoreLimit);

  // Where a part is synchronous, the moment of which all partitions are saved. Otherwise each has
  // its own, in Run().
  absl::Status Mark();

  // Copies the partitions, in pieces, and writes each copy. CANCELLED;
  // FAILED_PRECONDITION: the timeline is over; others are those of the object store.
  absl::Status Run();
  void Cancel() { cancelled_ = true; }

  uint64_t partitions_saved() const { return saved_; }
  uint64_t bytes() const { return bytes_; }
  // Bytes that the store has taken, also of what is not saved yet: it grows as long as one moves.
  uint64_t taken() const { return taken_; }
  // REQUIRES: Run() has returned OK.
  const std::vector<v1::SavedFile>& files() const { return files_; }

 private:
  struct Item {
    PartitionIndex index{};
    Partition* partition = nullptr;
    std::optional<PartitionCopy> copy = {};  // Once it has begun.
  };

  absl::Status Begin(Item& item);
  absl::Status SaveAll();
  // Returns when little enough waits for the store. CANCELLED.
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
  std::vector<v1::SavedFile> files_;  // Those that are in the store.
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> saved_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> taken_{0};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_SAVE_JOB_H_
