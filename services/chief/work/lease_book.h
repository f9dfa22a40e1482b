// The leases of tasks that trainers hold at present.
#ifndef CAPSTAN_CHIEF_WORK_LEASE_BOOK_H_
#define CAPSTAN_CHIEF_WORK_LEASE_BOOK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// A lease, and what its worker has last reported of it. `examples` and `loss_sum` start at 0 under
// each generation.
struct HeldLease {
  v1::Lease lease;
  uint64_t batches_done = 0;  // How many leading batches of the task are settled.
  uint64_t examples = 0;
  double loss_sum = 0;
};

// Thread-compatible.
class LeaseBook {
 public:
  void Add(v1::Lease lease);

  // Returns the lease with `generation` if one of `trainers` holds it, else null. The pointer is
  // valid until the next call that is not const.
  HeldLease* Find(std::span<const TrainerId> trainers, const Generation& generation);

  // Remove one lease or all leases of a trainer, and return them. Remove REQUIRES that the trainer
  // holds the lease.
  HeldLease Remove(TrainerId trainer, const Generation& generation);
  std::vector<HeldLease> RemoveAll(TrainerId trainer);
  std::vector<HeldLease> Clear();  // Removes and returns all leases, ordered by trainer.

  // Returns the leases of a trainer in the order in which they were added.
  std::span<const HeldLease> Of(TrainerId trainer) const;
  size_t size() const { return size_; }
  size_t holders() const { return held_.size(); }  // How many trainers hold a lease.

 private:
  absl::flat_hash_map<TrainerId, std::vector<HeldLease>> held_;  // No vector is empty.
  size_t size_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_LEASE_BOOK_H_
