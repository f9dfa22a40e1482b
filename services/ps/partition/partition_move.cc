// The member functions of Partition for its move to another shard.
#include <optional>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/trace.h"
#include "ps/partition/partition.h"

namespace capstan::ps {

absl::Status Partition::FreezeForMove(Timeline timeline, ViewEpoch move, absl::Time now) {
  absl::MutexLock lock(&mu_);
  if (store_ == nullptr || machine_.timeline() != timeline) {
    return absl::FailedPreconditionError("the partition is not here any more");
  }
  if (frozen_for_ == move) return absl::OkStatus();
  CatchUpLocked(now);
  if (machine_.held_back())
    return absl::UnavailableError("updates wait until a copy has been read");
  FlushForCopy(now);
  if (!machine_.BeginMove()) {
    return absl::UnavailableError(
        absl::StrCat("something is staged in round ", machine_.round() + 1, ", which is open"));
  }
  frozen_for_ = move;
  frozen_since_ = now;
  CAPSTAN_FAILPOINT("move.frozen");
  return absl::OkStatus();
}

void Partition::TakeName(ViewEpoch copy) {
  absl::MutexLock lock(&mu_);
  if (frozen_for_ == copy) origin_ = copy;
}

std::optional<absl::Duration> Partition::ThawUnless(std::optional<ViewEpoch> named,
                                                    absl::Time now) {
  absl::MutexLock lock(&mu_);
  if (!frozen_for_ || frozen_for_ == named) return std::nullopt;
  frozen_for_.reset();
  machine_.EndMove();
  trace::Write("thawed", {{"partition", Raw(index_)}});
  CatchUpLocked(now);
  CAPSTAN_FAILPOINT("move.thawed");
  return now - frozen_since_;
}

std::optional<absl::Duration> Partition::FrozenFor(absl::Time now) const {
  absl::MutexLock lock(&mu_);
  if (!frozen_for_) return std::nullopt;
  return now - frozen_since_;
}

ViewEpoch Partition::origin() const {
  absl::MutexLock lock(&mu_);
  return origin_;
}

}  // namespace capstan::ps
