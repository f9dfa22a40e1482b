// Detects peers that take more than their share of an overloaded server.
#ifndef CAPSTAN_RPC_FAIR_SHARE_H_
#define CAPSTAN_RPC_FAIR_SHARE_H_

#include <array>
#include <cstddef>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace capstan {

// Remembers which peers have made the last calls. *Thread-safe*.
class FairShare {
 public:
  static constexpr size_t kWindow = 256;  // How many calls are remembered.
  static constexpr size_t kFew = 32;      // With fewer calls than this no peer is judged.

  // Records a call of `peer`. Returns true if the peer has made at least half as many of the last
  // calls as each would have made if all peers had made the same number. So it returns true for all
  // of several equal peers, but not for one that calls rarely beside others that call often.
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
