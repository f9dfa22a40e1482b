// What a shard knows of its chiefs: terms, timelines, the newest view and its lease; and which
// timeline it serves, as news of a later timeline end serving.
#ifndef CAPSTAN_PS_SHARD_SHARD_VIEW_H_
#define CAPSTAN_PS_SHARD_SHARD_VIEW_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/base/ids.h"
#include "capstan/v1/common.pb.h"
#include "capstan/v1/view.pb.h"
#include "ps/shard/own_view.h"
#include "ps/shard/shard_identity.h"

namespace capstan::ps {

// *Thread-safe*.
class ShardView {
 public:
  // `partitions`: the job's number of partitions. `leased`: pulls need a lease (jobs with
  // replicas). `clock` must outlive this object.
  ShardView(const ShardIdentity& identity, size_t partitions, bool leased, const Clock& clock)
      : identity_(identity), partitions_(partitions), leased_(leased), clock_(clock) {}

  // The result of taking in a view.
  struct News {
    bool newer = false;  // The view is newer than the last one, and was accepted.
    bool later = false;  // Its timeline is later than any before.
    bool over = false;   // Its timeline has ended: its trainers are not the present ones.
  };
  // Takes in `view`, unless it is not newer than the last one. A view of a later timeline ends
  // serving. INVALID_ARGUMENT: the view maps another number of partitions than the job has.
  absl::StatusOr<News> Take(const v1::View& view);
  // The newest view from the perspective of this shard; before any view, an empty one.
  std::shared_ptr<const OwnView> newest() const;

  // ---- the timeline that is served ----

  // Ends serving, so that `timeline` can be loaded. Returns true if it is later than any before.
  // FAILED_PRECONDITION: a later timeline is known.
  absl::StatusOr<bool> BeginLoad(uint64_t timeline);
  // Serves `timeline` from now on. FAILED_PRECONDITION: a later timeline is known.
  absl::Status Serve(uint64_t timeline);
  // The timeline that is served; 0 if none is.
  uint64_t timeline() const { return timeline_.load(std::memory_order_acquire); }

  // ---- may this request be served? ----

  // Checks the header of a data request. UNIMPLEMENTED: another wire version; FAILED_PRECONDITION:
  // the request is meant for another process, or is of another timeline; UNAVAILABLE: the shard
  // serves nothing yet.
  absl::Status CheckHeader(const v1::RequestHeader& header) const;
  // Checks the header of an order of the chief. UNIMPLEMENTED: another wire version;
  // FAILED_PRECONDITION: the order is meant for another process, or a chief of a later term is
  // known. Checks neither whether anything is served nor the timeline.
  absl::Status CheckOrder(const v1::RequestHeader& header);
  // Followed() records that this shard has done what the view of this epoch requires.
  // CheckFollowed() returns UNAVAILABLE if an order names a later view: that view may give this
  // shard partitions to which the order applies, too.
  void Followed(ViewEpoch epoch);
  ViewEpoch followed() const;
  absl::Status CheckFollowed(const v1::RequestHeader& header) const;

  // ---- the lease, in jobs with replicas ----

  // Until `until` no backup is promoted in this shard's place, so it may answer pulls.
  void SetLease(absl::Time until);
  // UNAVAILABLE: another shard may serve these partitions already.
  absl::Status CheckLease() const;

 private:
  absl::Status CheckTarget(const v1::RequestHeader& header) const;
  // Records the term and the timeline of a view or an order. Returns true if `timeline` is later
  // than any before; serving ends then.
  bool Hear(uint64_t term, uint64_t timeline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const ShardIdentity identity_;
  const size_t partitions_;
  const bool leased_;
  const Clock& clock_;
  std::atomic<uint64_t> timeline_{0};
  mutable absl::Mutex mu_;
  uint64_t heard_term_ ABSL_GUARDED_BY(mu_) = 0;      // The highest term and timeline
  uint64_t heard_timeline_ ABSL_GUARDED_BY(mu_) = 0;  // in any view or order.
  // Shared with the calls that use it.
  std::shared_ptr<const OwnView> newest_ ABSL_GUARDED_BY(mu_) = std::make_shared<const OwnView>();
  ViewEpoch followed_ ABSL_GUARDED_BY(mu_);
  absl::Time lease_until_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_SHARD_VIEW_H_
