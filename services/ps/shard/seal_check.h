// Checks the seals of facts that workers pass on to a shard but must not invent: generations, round
// commits and the job's progress are sealed by the chief or the coordinator. See
// capstan/security/seal.h.
#ifndef CAPSTAN_PS_SHARD_SEAL_CHECK_H_
#define CAPSTAN_PS_SHARD_SEAL_CHECK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/security/seal.h"
#include "capstan/v1/ps.pb.h"

namespace capstan::ps {

// *Thread-safe*.
class SealCheck {
 public:
  // `lanes`: the number of the job's lanes; 0: no part is synchronous.
  explicit SealCheck(uint32_t lanes) : lanes_(lanes) {}

  // Sets the key by which seals are checked. Before that, every seal is accepted.
  void SetSealer(Sealer sealer);
  // Returns true if a wrong seal was seen since the last call: the shard's key may be the wrong
  // one.
  bool TakeDoubt() { return in_doubt_.exchange(false, std::memory_order_relaxed); }

  // INVALID_ARGUMENT: there is no such lane. UNAVAILABLE: the seal does not prove that the chief
  // has granted this generation of the lane to this trainer, as far as this shard knows the chief's
  // key.
  absl::Status CheckLane(const v1::RequestHeader& header, uint32_t lane,
                         const v1::Generation& generation) const;
  // The same check for the lane and the stream of a push. Also UNAVAILABLE if the push has a clock
  // but belongs to no lease, which would prove whose clock it is.
  absl::Status CheckPush(const v1::PushRequest& head) const;
  // UNAVAILABLE: the seal does not prove that the coordinator has closed the round with these
  // lanes.
  absl::Status CheckRound(uint64_t timeline, const RoundCommit& closed) const;
  // Returns PushRequest.progress_examples if the chief has sealed it; otherwise 0, which has no
  // effect.
  uint64_t ProgressOf(const v1::PushRequest& head) const;

  // Returns the seal that the coordinator on this shard gives to a round commit.
  uint64_t OfRound(uint64_t timeline, const RoundCommit& closed) const;

  uint32_t lanes() const { return lanes_; }

 private:
  std::shared_ptr<const Sealer> sealer() const;
  absl::Status Refuse(uint64_t shown, const std::string& what) const;
  absl::Status CheckStream(const v1::RequestHeader& header, const v1::StreamPush& stream) const;
  absl::Status CheckTellsNoClock(const v1::RequestHeader& header) const;

  const uint32_t lanes_;
  mutable std::atomic<bool> in_doubt_{false};
  mutable absl::Mutex mu_;
  // Shared with the requests that are being checked.
  std::shared_ptr<const Sealer> sealer_ ABSL_GUARDED_BY(mu_) = std::make_shared<const Sealer>();
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_SEAL_CHECK_H_
