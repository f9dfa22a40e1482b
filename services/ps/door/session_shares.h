// Limits the sessions of pushes: a shard keeps a limited number of sessions for an hour, and one
// host gets at most a share of them, so that there is room for others.
#ifndef CAPSTAN_PS_DOOR_SESSION_SHARES_H_
#define CAPSTAN_PS_DOOR_SESSION_SHARES_H_

#include <cstddef>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"

namespace capstan::ps {

// *Thread-safe*.
class SessionShares {
 public:
  // Keeps at most `limit` sessions, and at most half as many of one host, each until it was silent
  // for `ttl`.
  SessionShares(size_t limit, absl::Duration ttl) : limit_(limit), ttl_(ttl) {}

  // A push of `session` has come from `host`. Returns false if the session is new and would exceed
  // the limit of all sessions or of this host.
  bool Takes(StreamId session, const std::string& host, absl::Time now) {
    absl::MutexLock lock(&mu_);
    if (const auto found = sessions_.find(session); found != sessions_.end()) {
      found->second.used = now;
      return true;
    }
    if (!HasRoom(host)) ForgetSilent(now);
    if (!HasRoom(host)) return false;
    sessions_[session] = {host, now};
    ++of_host_[host];
    return true;
  }

 private:
  struct Session {
    std::string host;
    absl::Time used;
  };

  bool HasRoom(const std::string& host) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto found = of_host_.find(host);
    return sessions_.size() < limit_ && (found == of_host_.end() || found->second < limit_ / 2);
  }

  void ForgetSilent(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    // At most once a second: otherwise each call of a host that asks for too many sessions would
    // iterate over all sessions.
    if (now - looked_ < absl::Seconds(1)) return;
    looked_ = now;
    absl::erase_if(sessions_, [&](const auto& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      if (now - entry.second.used <= ttl_) return false;
      const auto host = of_host_.find(entry.second.host);
      if (--host->second == 0) of_host_.erase(host);
      return true;
    });
  }

  const size_t limit_;
  const absl::Duration ttl_;
  absl::Mutex mu_;
  absl::Time looked_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  absl::flat_hash_map<StreamId, Session> sessions_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, size_t> of_host_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_DOOR_SESSION_SHARES_H_
