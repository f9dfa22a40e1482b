#include "chief/machines/shard_lease.h"

#include <algorithm>

namespace capstan::chief {

void ShardLease::Inherit(const v1::View& view, absl::Time now) {
  if (lease_ <= absl::ZeroDuration()) return;
  for (const v1::ShardInfo& shard : view.shards()) {
    until_[shard.incarnation()] = now + WithAllowance(term());
  }
}

double ShardLease::Grant(uint64_t incarnation, absl::Time stood_at, absl::Time now) {
  const absl::Duration granted = std::min(lease_, term() - (now - stood_at));
  if (lease_ <= absl::ZeroDuration() || granted <= absl::ZeroDuration()) return 0;
  ForgetThoseOver(now);
  // What the predecessor may yet grant the process, which may speak to it again, ends later
  // perhaps.
  absl::Time& until = until_.try_emplace(incarnation, absl::InfinitePast()).first->second;
  until = std::max(until, now + patience());
  return absl::ToDoubleSeconds(granted);
}

bool ShardLease::IsOver(uint64_t incarnation, absl::Time now) const {
  const auto found = until_.find(incarnation);
  return found == until_.end() || now >= found->second;
}

void ShardLease::ForgetThoseOver(absl::Time now) {
  std::erase_if(until_, [now](const auto& lease) { return now >= lease.second; });
}

}  // namespace capstan::chief
