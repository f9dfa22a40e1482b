// One load that the chief has ordered: of partitions of a checkpoint, or of initial values.
#ifndef CAPSTAN_PS_TRANSFER_LOAD_JOB_H_
#define CAPSTAN_PS_TRANSFER_LOAD_JOB_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/consistency/stream_ledger.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/shard.h"
#include "ps/transfer/outside.h"

namespace capstan::ps {

// One thread calls Run(), which uses kHelpers more threads of the background. Cancel() and the
// numbers may be called by any thread.
class LoadJob {
 public:
  static constexpr int kHelpers = 1;

  // `shard` must outlive this object.
  LoadJob(Shard& shard, const v1::LoadPartitionsRequest& order, Outside outside);

  // Drops what the shard holds, loads every partition of the order, and serves all of them or,
  // after an error, none. DATA_LOSS: an object is damaged or missing (the message has its name);
  // CANCELLED: Cancel() was called.
  absl::Status Run();
  void Cancel() { cancelled_ = true; }

  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return bytes_; }
  // How many batches a partial recovery has found missing so far, summed over partitions.
  uint64_t batches_lost() const { return batches_lost_; }

 private:
  absl::Status OpenCheckpoint();
  absl::Status LoadOne(PartitionIndex partition) ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<PartitionContent> Restored(PartitionIndex partition) ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<PartitionContent> ParametersOf(PartitionIndex partition);
  absl::Status RecoverPartially(PartitionContent& content);
  absl::Status CheckRound(PartitionIndex partition, uint64_t round) ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<RoundsStart> Rounds() const ABSL_LOCKS_EXCLUDED(mu_);

  Shard& shard_;
  const v1::LoadPartitionsRequest order_;
  const StreamFacts told_;  // For a partial recovery: the order's facts about streams.
  const Outside outside_;
  std::optional<CheckpointReader> reader_;
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> rows_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> batches_lost_{0};

  mutable absl::Mutex mu_;
  // The round that all partitions have passed.
  std::optional<uint64_t> round_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_LOAD_JOB_H_
