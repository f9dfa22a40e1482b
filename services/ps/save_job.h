// One save, as the chief ordered it: a file for each partition of the shard.
#ifndef CAPSTAN_PS_SAVE_JOB_H_
#define CAPSTAN_PS_SAVE_JOB_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/objectstore/store_opener.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition.h"
#include "ps/shard.h"

namespace capstan::ps {

// Mark(), then Run(), one thread at a time; Cancel() and the numbers by any.
class SaveJob {
 public:
  // The shard must outlive it.
  SaveJob(Shard& shard, const v1::SavePartitionsRequest& order, StoreOpener open);

  // Where a part is synchronous, the moment of which all partitions are saved. Otherwise each has
  // its own, in Run().
  absl::Status Mark();

  // Copies the partitions one after the other, in pieces, and writes each copy. CANCELLED;
  // FAILED_PRECONDITION: the timeline is over; others are those of the object store.
  absl::Status Run();
  void Cancel() { cancelled_ = true; }

  uint64_t partitions_saved() const { return saved_; }
  uint64_t bytes() const { return bytes_; }
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
  absl::Status SaveOne(ObjectStore& folder, Item& item);
  absl::StatusOr<std::string> Encode(Item& item, uint64_t& rows);
  absl::Status TimelineIsOver(const Item& item) const;

  Shard& shard_;
  const v1::SavePartitionsRequest order_;
  const StoreOpener open_;
  std::vector<Item> items_;
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> saved_{0};
  std::atomic<uint64_t> bytes_{0};
  std::vector<v1::SavedFile> files_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SAVE_JOB_H_
