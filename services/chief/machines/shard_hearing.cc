#include "chief/machines/shard_hearing.h"

#include <algorithm>

#include "capstan/base/ids.h"

namespace capstan::chief {
namespace {

// A process that has not called Listen for 1/kSleptShare of its patience counts as having been
// suspended.
constexpr int kSleptShare = 4;
// Shards send four heartbeats per lease (HeartbeatOf). A chief that has heard of no shard for
// 1/kDeafShare of its patience is cut off itself.
constexpr int kDeafShare = 2;

// Returns zero if shards need no lease.
absl::Duration ShardLeaseOf(const v1::JobSpec& spec) {
  return spec.replicas() > 0 ? absl::Seconds(spec.lease().shard_lease_seconds())
                             : absl::ZeroDuration();
}

}  // namespace

ShardHearing::ShardHearing(const v1::JobSpec& spec)
    : lease_(ShardLeaseOf(spec)),
      patience_(spec.replicas() > 0 ? lease_.patience()
                                    : absl::Seconds(spec.lease().worker_lease_seconds())) {}

void ShardHearing::Listen(const ShardTable& shards, absl::Time now) {
  if (now > looked_at_ + patience_ / kSleptShare) awake_since_ = now;
  looked_at_ = now;
  absl::Time last = absl::InfinitePast();
  for (const auto& [index, shard] : shards.shards()) {
    if (!shard.gone) last = std::max(last, shard.heard);
  }
  if (last < now - patience_ / kDeafShare) deaf_until_ = now;
}

bool ShardHearing::IsSilent(const Shard& shard, absl::Time now) const {
  return shard.gone || now - std::max(shard.heard, awake_since_) > patience_;
}

bool ShardHearing::IsLost(const Shard& shard, absl::Time now) const {
  return shard.gone ||
         (Hears(now) && IsSilent(shard, now) && lease_.IsOver(Raw(shard.incarnation), now));
}

}  // namespace capstan::chief
