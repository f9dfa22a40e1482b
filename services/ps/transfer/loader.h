// Carries out the chief's orders to load partitions, in the background.
#ifndef CAPSTAN_PS_TRANSFER_LOADER_H_
#define CAPSTAN_PS_TRANSFER_LOADER_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/shard.h"
#include "ps/transfer/load_job.h"
#include "ps/transfer/outside.h"

namespace capstan::ps {

// *Thread-safe*.
class Loader {
 public:
  // `shard` must outlive the loader.
  Loader(Shard& shard, Outside outside) : shard_(shard), outside_(std::move(outside)) {}
  ~Loader();  // Cancels the load under way and waits for its end.

  // Begins the load of a timeline. If that load is under way or done, returns its state; never
  // waits for a load. A load that failed because of what is stored (damaged, missing, or of another
  // job) is answered with its error until another timeline is ordered. After any other failure the
  // next order begins the load again. INVALID_ARGUMENT: an impossible order; FAILED_PRECONDITION:
  // the timeline was ordered with other contents.
  absl::StatusOr<v1::LoadPartitionsReply> Order(const v1::LoadPartitionsRequest& request);

 private:
  struct Load {
    v1::LoadPartitionsRequest order;
    std::unique_ptr<LoadJob> job;
    std::unique_ptr<Background::Work> work = {};
    absl::Time began;
    absl::Duration took = absl::ZeroDuration();
    bool ended = false;
    absl::Status status = {};
  };

  absl::Status Check(const v1::LoadPartitionsRequest& request) const;
  void Begin(const v1::LoadPartitionsRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Run(LoadJob& job) ABSL_LOCKS_EXCLUDED(mu_);
  v1::LoadPartitionsReply ReplyOf(const Load& load) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Shard& shard_;
  const Outside outside_;
  absl::Mutex mu_;
  std::optional<Load> load_ ABSL_GUARDED_BY(mu_);  // The present load, or the last.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_LOADER_H_
