// The leases of tasks that trainers hold now.
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

// A lease, and what its trainer's worker reported last. Its sums grow from 0 under each generation.
struct HeldLease {
  v1::Lease lease;
  uint64_t batches_done = 0;  // Contiguous acknowledged prefix, from the task's start.
  uint64_t examples = 0;
  double loss_sum = 0;
};

// Thread-compatible.
class LeaseBook {
 public:
  void Add(v1::Lease lease);

  // The lease of this generation if one of `trainers` holds it, else null. The pointer stands until
  // the next call that is not const.
  HeldLease* Find(std::span<const TrainerId> trainers, const Generation& generation);

  // Takes one or all of a trainer's leases out. Remove REQUIRES that Find finds it.
  HeldLease Remove(TrainerId trainer, const Generation& generation);
  std::vector<HeldLease> RemoveAll(TrainerId trainer);
  std::vector<HeldLease> Clear();  // In the order of the trainers' numbers.

  // In the order granted.
  std::span<const HeldLease> Of(TrainerId trainer) const;
  size_t size() const { return size_; }
  size_t holders() const { return held_.size(); }  // Trainers that hold any.

 private:
  absl::flat_hash_map<TrainerId, std::vector<HeldLease>> held_;  // No entry: it holds none.
  size_t size_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_LEASE_BOOK_H_
