// One part (dense or sparse) of a partition under async or ssp. The ledger makes sure that each
// gradient is settled once. It is applied on arrival, or queued to be applied in a mean.
#ifndef CAPSTAN_PS_MACHINES_STREAM_PART_H_
#define CAPSTAN_PS_MACHINES_STREAM_PART_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/decisions.h"
#include "capstan/consistency/stream_ledger.h"
#include "capstan/v1/job.pb.h"
#include "ps/machines/decision.h"

namespace capstan::ps {

struct StreamGradient {
  StreamPush name;
  uint64_t pulled_version = 0;
  GradientHandle handle{};
  // The staleness of each row decides whether the row is applied; that of the part does not matter.
  bool judged_by_rows = false;
  bool counted_elsewhere = false;  // The batch is counted in another partition.
};

// Thread-compatible.
class StreamPart {
 public:
  // `capacity`: how many gradients may wait in the queue; 0: twice as many as one update takes.
  StreamPart(Part part, const v1::UpdatePolicy& policy, uint32_t capacity);

  // Decides on a gradient, and applies what has become due unless `held_back`. `version` is the
  // version of the part; each update increments it.
  Decision Push(const StreamGradient& gradient, bool held_back, absl::Time now, uint64_t& version);

  // Applies the gradients in the queue, in updates of policy.aggregate gradients. A remainder that
  // is smaller than one update stays in the queue, unless `all`.
  void Drain(bool all, uint64_t& version, Decision& decision);

  // Returns how many batches were counted here: the gradients of tasks that were applied or queued,
  // except those that are counted elsewhere.
  uint64_t batches() const { return batches_; }
  // Starts with the count of a checkpoint. nullopt: the checkpoint was written by a version that
  // did not count; then for each of the part's updates the largest possible number of batches is
  // assumed.
  void RestoreBatches(std::optional<uint64_t> batches, uint64_t version);

  StreamLedger& ledger() { return ledger_; }
  const StreamLedger& ledger() const { return ledger_; }
  size_t queued() const { return queue_.size(); }
  std::string DebugString() const;

 private:
  struct Queued {
    GradientHandle handle{};
    uint64_t pulled_version = 0;
    bool judged_by_rows = false;
  };
  StaleDecision Judge(bool by_rows, uint64_t staleness) const;
  Contribution Weigh(const Queued& gradient, size_t of, uint64_t version) const;

  Part part_;
  v1::UpdatePolicy policy_;
  size_t aggregate_;
  size_t capacity_;
  StreamLedger ledger_;
  uint64_t batches_ = 0;
  std::vector<Queued> queue_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_STREAM_PART_H_
