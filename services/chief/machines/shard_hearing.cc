#include "chief/machines/shard_hearing.h"

#include <algorithm>

#include "capstan/base/ids.h"

namespace capstan::chief {
namespace {

// A process that has not looked at its shards for such a part of their lease has slept, and knows
// nothing of their silence.
constexpr int kSleptShare = 4;
// Shards are heard of four times a lease (HeartbeatOf). A chief that has heard of none of them for
// such a part of it is cut off itself.
constexpr int kDeafShare = 2;

// Zero: shards need none.
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
