#include "ps/shard/shard_view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "capstan/placement/view_epoch.h"
#include "capstan/rpc/status.h"
#include "ps/partition/retry_hints.h"

namespace capstan::ps {

absl::StatusOr<ShardView::News> ShardView::Take(const v1::View& view) {
  absl::MutexLock lock(&mu_);
  if (EpochOf(view) <= newest_->epoch()) return News();
  if (view.owners_size() > 0 && static_cast<size_t>(view.owners_size()) != partitions_) {
    return absl::InvalidArgumentError(absl::StrCat("the view maps ", view.owners_size(),
                                                   " partitions, the job has ", partitions_));
  }
  newest_ = std::make_shared<const OwnView>(view, identity_);
  News news{.newer = true, .later = Hear(view.epoch().term(), view.timeline())};
  news.over = view.timeline() < heard_timeline_;
  CAPSTAN_FAILPOINT("shard.view_taken");
  return news;
}

std::shared_ptr<const OwnView> ShardView::newest() const {
  absl::MutexLock lock(&mu_);
  return newest_;
}

bool ShardView::Hear(uint64_t term, uint64_t timeline) {
  heard_term_ = std::max(heard_term_, term);
  if (timeline <= heard_timeline_) return false;
  heard_timeline_ = timeline;
  timeline_.store(0, std::memory_order_release);
  return true;
}

// ---- the timeline that is served ----

absl::StatusOr<bool> ShardView::BeginLoad(uint64_t timeline) {
  absl::MutexLock lock(&mu_);
  if (timeline == 0 || timeline < heard_timeline_) {
    return absl::FailedPreconditionError(absl::StrCat("ordered to load timeline ", timeline,
                                                      ", the present one is ", heard_timeline_));
  }
  const bool later = Hear(heard_term_, timeline);
  timeline_.store(0, std::memory_order_release);
  return later;
}

absl::Status ShardView::Serve(uint64_t timeline) {
  absl::MutexLock lock(&mu_);
  if (heard_timeline_ != timeline) {
    return absl::FailedPreconditionError(
        absl::StrCat("timeline ", timeline, " is over, ", heard_timeline_, " has begun"));
  }
  CAPSTAN_FAILPOINT("load.before_serving");
  timeline_.store(timeline, std::memory_order_release);
  CAPSTAN_FAILPOINT("load.serving");
  return absl::OkStatus();
}

// ---- may this request be served? ----

absl::Status ShardView::CheckTarget(const v1::RequestHeader& header) const {
  if (header.wire_version() != kWireVersion) {
    return absl::UnimplementedError(absl::StrCat("wire version ", header.wire_version(),
                                                 " is not spoken here, only ", kWireVersion));
  }
  if (header.target_incarnation() == Raw(identity_.incarnation)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the request is meant for incarnation ",
                                                    absl::Hex(header.target_incarnation()),
                                                    " of shard ", Raw(identity_.index)));
}

absl::Status ShardView::CheckHeader(const v1::RequestHeader& header) const {
  CAPSTAN_RETURN_IF_ERROR(CheckTarget(header));
  const uint64_t timeline = this->timeline();
  if (timeline == 0) return absl::UnavailableError("the shard is loading its partitions");
  if (header.timeline() == timeline) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the request is of timeline ", header.timeline(), ", this is ", timeline));
}

absl::Status ShardView::CheckOrder(const v1::RequestHeader& header) {
  CAPSTAN_RETURN_IF_ERROR(CheckTarget(header));
  absl::MutexLock lock(&mu_);
  if (header.epoch().term() < heard_term_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the order is of term ", header.epoch().term(), ", the chief's is ", heard_term_));
  }
  heard_term_ = header.epoch().term();
  return absl::OkStatus();
}

void ShardView::Followed(ViewEpoch epoch) {
  absl::MutexLock lock(&mu_);
  followed_ = epoch;
}

ViewEpoch ShardView::followed() const {
  absl::MutexLock lock(&mu_);
  return followed_;
}

absl::Status ShardView::CheckFollowed(const v1::RequestHeader& header) const {
  absl::MutexLock lock(&mu_);
  if (ViewEpochFromProto(header.epoch()) <= followed_) return absl::OkStatus();
  return absl::UnavailableError("the view that the order goes by is on its way");
}

// ---- the lease ----

void ShardView::SetLease(absl::Time until) {
  absl::MutexLock lock(&mu_);
  lease_until_ = std::max(lease_until_, until);
}

absl::Status ShardView::CheckLease() const {
  if (!leased_) return absl::OkStatus();
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mu_);
  if (now < lease_until_) return absl::OkStatus();
  return WithRetryAfter(
      absl::UnavailableError(absl::StrCat("shard ", Raw(identity_.index),
                                          " has not heard from the chief for its lease")),
      kNoLeaseHint);
}

}  // namespace capstan::ps
