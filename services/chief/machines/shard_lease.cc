#include "chief/machines/shard_lease.h"

#include <algorithm>

namespace capstan::chief {

void ShardLease::Inherit(absl::Time now) {
  if (lease_ > absl::ZeroDuration()) inherited_until_ = now + WithAllowance(term());
}

double ShardLease::Grant(uint64_t incarnation, absl::Time stood_at, absl::Time now) {
  const absl::Duration granted = std::min(lease_, term() - (now - stood_at));
  if (lease_ <= absl::ZeroDuration() || granted <= absl::ZeroDuration()) return 0;
  Await(incarnation, now);
  return absl::ToDoubleSeconds(granted);
}

// A lease that the predecessor may yet grant to the process, which may talk to it again, may end
// later.
void ShardLease::Await(uint64_t incarnation, absl::Time now) {
  if (lease_ <= absl::ZeroDuration()) return;
  ForgetThoseOver(now);
  absl::Time& until = until_.try_emplace(incarnation, inherited_until_).first->second;
  until = std::max(until, now + patience());
}

bool ShardLease::IsOver(uint64_t incarnation, absl::Time now) const {
  const auto found = until_.find(incarnation);
  return now >= (found == until_.end() ? inherited_until_ : found->second);
}
// While leases of a predecessor have to be waited for, a process that was forgotten here would be
// waited for again.
void ShardLease::ForgetThoseOver(absl::Time now) {
  if (now < inherited_until_) return;
  std::erase_if(until_, [now](const auto& lease) { return now >= lease.second; });
}

}  // namespace capstan::chief
