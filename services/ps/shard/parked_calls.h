// Calls whose answer has been put off, and who answers them: a machine names a WaiterId, the shell
// finds the call. Exactly one of answer and cancellation wins.
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

// Calls parked under the answers of type Answer. *Thread-safe*.
template <typename Answer>
class ParkedCalls {
 public:
  using Done = absl::AnyInvocable<void(const Answer&)>;

  // Parks `done`; the machine may be told of the id afterwards.
  WaiterId Park(Done done) {
    absl::MutexLock lock(&mu_);
    const uint64_t id = ++last_id_;
    calls_.emplace(id, std::move(done));
    return WaiterId{id};
  }

  // Runs what was parked, outside every lock. Nothing if it has been taken already.
  void Release(WaiterId id, const Answer& answer) {
    if (Done done = Take(id)) done(answer);
  }

  // Un-parks: empty if somebody else was first.
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
