// One save, as the chief ordered it: a file for each partition of the shard.
#ifndef CAPSTAN_PS_SAVE_JOB_H_
#define CAPSTAN_PS_SAVE_JOB_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "capstan/v1/ps.pb.h"
#include "ps/outside.h"
#include "ps/partition.h"
#include "ps/shard.h"

namespace capstan::ps {

// Mark(), then Run(), by one thread, which gets help in the background; Cancel() and the numbers by
// any. Files are written several at a time, as most of their time goes by in waits for the disk or
// the network; copied is one partition after the other, so that the load on the shard is that of
// one thread.
class SaveJob {
 public:
  static constexpr size_t kMostThreads = 8;
  // In memory, if all files are like the first; or a single one.
  static constexpr size_t kBytesAtOnce = size_t{32} << 20;

  // The shard must outlive it.
  SaveJob(Shard& shard, const v1::SavePartitionsRequest& order, Outside outside);

  // Where a part is synchronous, the moment of which all partitions are saved. Otherwise each has
  // its own, in Run().
  absl::Status Mark();

  // Copies the partitions, in pieces, and writes each copy. CANCELLED;
  // FAILED_PRECONDITION: the timeline is over; others are those of the object store.
  absl::Status Run();
  void Cancel() { cancelled_ = true; }

  uint64_t partitions_saved() const { return saved_; }
  uint64_t bytes() const { return bytes_; }
  // REQUIRES: Run() has returned OK.
  std::vector<v1::SavedFile> files() const;

 private:
  struct Item {
    PartitionIndex index{};
    Partition* partition = nullptr;
    std::optional<PartitionCopy> copy = {};  // Once it has begun.
    v1::SavedFile file = {};                 // Once it is written.
  };
  struct Encoded {
    std::string bytes;
    uint64_t rows = 0;
  };

  absl::Status Begin(Item& item);
  absl::Status SaveAll() ABSL_LOCKS_EXCLUDED(mu_);
  // Saves partitions until there are no more, or one has failed.
  void Work(ObjectStore& folder) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Write(ObjectStore& folder, Item& item, const Encoded& encoded);
  void Note(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<Encoded> Copy(Item& item) ABSL_LOCKS_EXCLUDED(copying_);
  absl::StatusOr<Encoded> Encode(Item& item);
  absl::Status TimelineIsOver(const Item& item) const;

  Shard& shard_;
  const v1::SavePartitionsRequest order_;
  const Outside outside_;
  std::vector<Item> items_;      // Each is one thread's at a time.
  std::atomic<size_t> next_{1};  // The first is saved before.
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> saved_{0};
  std::atomic<uint64_t> bytes_{0};

  absl::Mutex copying_;  // Held by the thread that copies a partition.
  absl::Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SAVE_JOB_H_
