// The folders in which a shard may write and read: the checkpoints of its job, and the checkpoint
// with which the job began. A caller must not be able to make the shard write into other folders,
// or load from them.
#ifndef CAPSTAN_PS_SHARD_PLACES_H_
#define CAPSTAN_PS_SHARD_PLACES_H_

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace capstan::ps {

// Prefixes of folders, as told by the chief when a shard registers, or as fixed by the shard's
// flags. *Thread-safe*.
class Places {
 public:
  struct Known {
    std::string checkpoints;  // checkpoint.uri; written and read under it. Empty: nowhere.
    std::string from;         // A checkpoint of another job, which is only read; empty: none.
  };

  // The non-empty fields of `fixed` do not change; Learn() sets the others. An empty place is
  // refused.
  explicit Places(Known fixed = {}) : fixed_(std::move(fixed)), known_(fixed_) {}

  // Sets the places that are not fixed to those that the chief has sent.
  void Learn(Known told);

  // Return PERMISSION_DENIED if the shard may not write to, or read from, `uri`.
  absl::Status CheckWrite(const std::string& uri) const;
  absl::Status CheckRead(const std::string& uri) const;

 private:
  const Known fixed_;
  mutable absl::Mutex mu_;
  Known known_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_PLACES_H_
