// Who takes more than a share of a server that has too much to do.
#ifndef CAPSTAN_RPC_FAIR_SHARE_H_
#define CAPSTAN_RPC_FAIR_SHARE_H_

#include <array>
#include <cstddef>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace capstan {

// Remembers of whom the last calls were. *Thread-safe*.
class FairShare {
 public:
  static constexpr size_t kWindow = 256;  // Calls.
  static constexpr size_t kFew = 32;      // Among fewer calls nobody is judged.

  // A call of this peer. True: of the last calls it had at least half as many as each would have
  // if all had equally many. Equal peers are all told so; one that asks little beside others that
  // ask much is not.
  bool Takes(const std::string& peer) {
    absl::MutexLock lock(&mu_);
    std::string& place = last_[calls_++ % kWindow];
    if (calls_ > kWindow) Forget(place);
    place = peer;
    const size_t of_peer = ++counts_[peer];
    const size_t seen = calls_ < kWindow ? calls_ : kWindow;
    return seen >= kFew && 2 * of_peer * counts_.size() >= seen;
  }

 private:
  void Forget(const std::string& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto found = counts_.find(peer);
    if (--found->second == 0) counts_.erase(found);
  }

  absl::Mutex mu_;
  size_t calls_ ABSL_GUARDED_BY(mu_) = 0;
  std::array<std::string, kWindow> last_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, size_t> counts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan

#endif  // CAPSTAN_RPC_FAIR_SHARE_H_
