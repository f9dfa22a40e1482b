// Limits how often one peer may do something that permanently costs other peers something.
#ifndef CAPSTAN_RPC_PEER_RATE_H_
#define CAPSTAN_RPC_PEER_RATE_H_

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace capstan {

// A peer may do it `burst` times at once, and then once per `interval`. *Thread-safe*.
class PeerRate {
 public:
  static constexpr size_t kMostPeers = 65536;  // How many are remembered; others share one entry.

  PeerRate(double burst, absl::Duration interval) : burst_(burst), interval_(interval) {}

  // Returns true if `peer` may do it at `now`, and then counts it. If false, the peer must retry
  // later. REQUIRES: `now` never decreases.
  bool Takes(const std::string& peer, absl::Time now) {
    absl::MutexLock lock(&mu_);
    Peer& entry = At(peer, now);
    if (entry.left < 1) return false;
    entry.left -= 1;
    return true;
  }
  // Returns what Takes() would return, but counts nothing.
  bool Has(const std::string& peer, absl::Time now) {
    absl::MutexLock lock(&mu_);
    return At(peer, now).left >= 1;
  }

 private:
  struct Peer {
    double left = 0;
    absl::Time at;
  };
  Peer& At(const std::string& peer, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (peers_.size() >= kMostPeers) ForgetIdle(now);
    const bool room = peers_.size() < kMostPeers || peers_.contains(peer);
    Peer& entry = peers_.try_emplace(room ? peer : "", Peer{burst_, now}).first->second;
    entry.left = Left(entry, now);
    entry.at = now;
    return entry;
  }
  double Left(const Peer& peer, absl::Time now) const {
    return std::min(burst_, peer.left + absl::FDivDuration(now - peer.at, interval_));
  }
  void ForgetIdle(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (auto peer = peers_.begin(); peer != peers_.end();) {
      const auto each = peer++;
      if (Left(each->second, now) >= burst_) peers_.erase(each);
    }
  }

  const double burst_;
  const absl::Duration interval_;
  absl::Mutex mu_;
  absl::flat_hash_map<std::string, Peer> peers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan

#endif  // CAPSTAN_RPC_PEER_RATE_H_
