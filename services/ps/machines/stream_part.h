// One part (dense or sparse) of a partition under async or ssp. The ledger settles each gradient
// once; it is applied on arrival, or as a share of the mean of a queue.
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
  // Each row of the gradient is judged by its own staleness: the part's version decides nothing.
  bool judged_by_rows = false;
  bool counted_elsewhere = false;  // Another partition counts the batch.
};

// Thread-compatible.
class StreamPart {
 public:
  // `capacity`: how many gradients may wait in the queue; 0: twice the number that one update
  // takes.
  StreamPart(Part part, const v1::UpdatePolicy& policy, uint32_t capacity);

  // Decides on a gradient, and applies what has become due unless `held_back`. `version` is the
  // part's, and is advanced by each update.
  Decision Push(const StreamGradient& gradient, bool held_back, absl::Time now, uint64_t& version);

  // Applies the gradients that wait in the queue, in updates of policy.aggregate gradients. A rest
  // that is smaller than one update stays in the queue, unless `all`.
  void Drain(bool all, uint64_t& version, Decision& decision);

  // Returns how many batches have been counted here: each gradient of a task that was applied or
  // queued, but for those that are counted elsewhere.
  uint64_t batches() const { return batches_; }
  // Begins with what a checkpoint kept. Nothing: it was written by a release that did not count;
  // then each of the part's updates counts as many batches as it may have been made of.
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
