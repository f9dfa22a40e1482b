// One save, as the chief ordered it: a file for each partition of the shard.
#ifndef CAPSTAN_PS_SAVE_JOB_H_
#define CAPSTAN_PS_SAVE_JOB_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard.h"

namespace capstan::ps {

// Run() by one thread; Cancel() and partitions_saved() by any.
class SaveJob {
 public:
  // The shard must outlive it.
  SaveJob(Shard& shard, const v1::SavePartitionsRequest& order) : shard_(shard), order_(order) {}

  // Writes the partitions one after the other: each is copied under its lock and written without.
  // CANCELLED; FAILED_PRECONDITION: the timeline is over; others are those of the object store.
  absl::Status Run();
  void Cancel() { cancelled_ = true; }

  uint64_t partitions_saved() const { return saved_; }
  // REQUIRES: Run() has returned OK.
  const std::vector<v1::SavedFile>& files() const { return files_; }

 private:
  absl::Status SaveOne(ObjectStore& folder, PartitionIndex index, Partition& partition);

  Shard& shard_;
  const v1::SavePartitionsRequest order_;
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> saved_{0};
  std::vector<v1::SavedFile> files_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SAVE_JOB_H_
