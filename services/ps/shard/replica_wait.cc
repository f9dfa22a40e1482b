#include "ps/shard/replica_wait.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace capstan::ps {
namespace {

// Counts which operations of one wait are still to be carried out.
class Missing {
 public:
  Missing(size_t left, absl::AnyInvocable<void(const absl::Status&)> done)
      : left_(left), done_(std::move(done)) {}

  void One(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::Status all;
    {
      absl::MutexLock lock(&mu_);
      status_.Update(status);
      if (--left_ > 0) return;
      all = status_;
    }
    done_(all);
  }

 private:
  absl::Mutex mu_;
  size_t left_ ABSL_GUARDED_BY(mu_);
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  absl::AnyInvocable<void(const absl::Status&)> done_;  // Called by the last one alone.
};

}  // namespace

void ReplicaWait::Then(absl::AnyInvocable<void(const absl::Status&)> done) && {
  if (operations_.empty()) return done(absl::OkStatus());
  const auto missing = std::make_shared<Missing>(operations_.size(), std::move(done));
  for (const Added& added : operations_) {
    added.stream->Await(added.partition, added.number,
                        [missing](const absl::Status& status) { missing->One(status); });
  }
  Wake();
  operations_.clear();
}

void ReplicaWait::Wake() const {
  const ReplicaStream* woken = nullptr;  // Most operations of a request are of one stream.
  for (const Added& added : operations_) {
    if (added.stream.get() != woken) added.stream->Wake();
    woken = added.stream.get();
  }
}

}  // namespace capstan::ps
