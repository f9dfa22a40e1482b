// Calls that are answered later. A machine names a WaiterId, and its shell finds the call here. A
// call is taken out either to answer it or because it was cancelled, never for both.
#ifndef CAPSTAN_PS_SHARD_PARKED_CALLS_H_
#define CAPSTAN_PS_SHARD_PARKED_CALLS_H_

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "ps/machines/waiter.h"

namespace capstan::ps {

// Parked calls that wait for an answer of type Answer. *Thread-safe*.
template <typename Answer>
class ParkedCalls {
 public:
  using Done = absl::AnyInvocable<void(const Answer&)>;

  // Parks `done`. Returns the id that identifies the call to the machine.
  WaiterId Park(Done done) {
    absl::MutexLock lock(&mu_);
    const uint64_t id = ++last_id_;
    calls_.emplace(id, std::move(done));
    return WaiterId{id};
  }

  // Runs the parked `done`, without any lock. Does nothing if the call was taken already.
  void Release(WaiterId id, const Answer& answer) {
    if (Done done = Take(id)) done(answer);
  }

  // Removes the call. Returns its `done`; empty if the call was taken already.
  Done Take(WaiterId id) {
    absl::MutexLock lock(&mu_);
    auto node = calls_.extract(static_cast<uint64_t>(id));
    return node.empty() ? Done() : std::move(node.mapped());
  }

 private:
  absl::Mutex mu_;
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<uint64_t, Done> calls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_PARKED_CALLS_H_
