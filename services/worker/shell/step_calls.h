// The pulls, or the pushes, that are under way for the steps of a lease: at most one for each batch
// and shard. A later call cancels the one before. Otherwise a pull that the lease's machine has
// given up (its round is over, or the view has changed) would write into a step that is being
// computed, and a push would read gradients that are being computed anew.
#ifndef CAPSTAN_WORKER_SHELL_STEP_CALLS_H_
#define CAPSTAN_WORKER_SHELL_STEP_CALLS_H_

#include <cstdint>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "capstan/base/ids.h"
#include "capstan/client/ps_client.h"

namespace capstan::worker {

// Confined to the event loop of its client.
class StepCalls {
 public:
  // `client` must outlive the calls.
  explicit StepCalls(PsClient& client) : client_(client) {}
  ~StepCalls() { CancelAll(); }
  StepCalls(const StepCalls&) = delete;
  StepCalls& operator=(const StepCalls&) = delete;

  // Cancels the call under way for `batch` and `shard`, if there is one, then begins another by
  // `begin`. REQUIRES: `begin` does not run the new call's callback.
  void Begin(uint64_t batch, ShardIndex shard, absl::FunctionRef<RequestId()> begin) {
    Cancel(batch, shard);
    calls_[{batch, shard}] = begin();
  }
  void OnDone(uint64_t batch, ShardIndex shard) { calls_.erase({batch, shard}); }

  void Cancel(uint64_t batch, ShardIndex shard) {
    const auto found = calls_.find({batch, shard});
    if (found == calls_.end()) return;
    client_.Cancel(found->second);
    calls_.erase(found);
  }
  void CancelBatch(uint64_t batch) {
    CancelIf([batch](uint64_t other) { return other == batch; });
  }
  void CancelAll() {
    CancelIf([](uint64_t) { return true; });
  }

 private:
  void CancelIf(absl::FunctionRef<bool(uint64_t)> of_batch) {
    std::erase_if(calls_, [&](const auto& call) {
      if (!of_batch(call.first.first)) return false;
      client_.Cancel(call.second);
      return true;
    });
  }

  PsClient& client_;
  std::map<std::pair<uint64_t, ShardIndex>, RequestId> calls_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_STEP_CALLS_H_
