// One part (dense or sparse) of a partition under async or ssp: each gradient is settled once, by
// the ledger, and applied on arrival or with the mean of a queue.
#ifndef CAPSTAN_PS_MACHINES_STREAM_PART_H_
#define CAPSTAN_PS_MACHINES_STREAM_PART_H_

#include <cstddef>
#include <cstdint>
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
  // How stale it is is told by each of its rows for itself: the part's version decides nothing.
  bool judged_by_rows = false;
};

// Thread-compatible.
class StreamPart {
 public:
  // `capacity`: gradients that may wait in the queue; 0: twice what one update takes.
  StreamPart(Part part, const v1::UpdatePolicy& policy, uint32_t capacity);

  // `version` is the part's, and is advanced by each update. Frozen, nothing is applied.
  Decision Push(const StreamGradient& gradient, bool frozen, absl::Time now, uint64_t& version);

  // Applies what has become due (`all`: whatever waits), in updates of at most `aggregate`
  // gradients.
  void Drain(bool all, uint64_t& version, Decision& decision);

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
  std::vector<Queued> queue_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_STREAM_PART_H_
