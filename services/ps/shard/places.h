// Where a shard may write and read: the checkpoints of its job, and the one that the job began
// with. Whoever can call a shard must not be able to have it write into other folders, or load what
// lies there.
#ifndef CAPSTAN_PS_SHARD_PLACES_H_
#define CAPSTAN_PS_SHARD_PLACES_H_

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace capstan::ps {

// Prefixes of folders, as the chief tells them when a shard registers, or as its flags fix them.
// *Thread-safe*.
class Places {
 public:
  struct Known {
    std::string checkpoints;  // checkpoint.uri; written and read under it. Empty: nowhere.
    std::string from;         // A checkpoint of another job, that is only read; empty: none.
  };

  // What is given here is fixed; what is not waits for Learn. Before either, everything is refused.
  explicit Places(Known fixed = {}) : fixed_(std::move(fixed)), known_(fixed_) {}

  // What the chief tells.
  void Learn(Known told);

  // PERMISSION_DENIED: not there.
  absl::Status CheckWrite(const std::string& uri) const;
  absl::Status CheckRead(const std::string& uri) const;

 private:
  const Known fixed_;
  mutable absl::Mutex mu_;
  Known known_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_PLACES_H_
