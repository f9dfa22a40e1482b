#include "chief/machines/recovery.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kPause = absl::Seconds(1);

}  // namespace

bool Recovery::IsDamage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status);
}

void Recovery::Begin(std::vector<RecoverySource> sources, absl::Time now) {
  CAPSTAN_CHECK(!sources.empty());
  phase_ = Phase::kReading;
  begun_ = now;
  sources_ = std::move(sources);
  asked_ = false;
  found_ = sources_.back().uri.empty();
  again_ = absl::InfinitePast();
  manifest_.Clear();
  loading_.clear();
  rows_ = 0;
  last_ = absl::OkStatus();
}

std::optional<std::string> Recovery::TakeRead(absl::Time now) {
  if (phase_ != Phase::kReading || found_ || asked_ || now < again_) return std::nullopt;
  asked_ = true;
  return source().uri;
}

absl::Status Recovery::OnManifestRead(absl::StatusOr<v1::Manifest> manifest, absl::Time now) {
  CAPSTAN_CHECK(AwaitsManifestOf(source().uri));
  asked_ = false;
  if (manifest.ok()) {
    manifest_ = *std::move(manifest);
    found_ = true;
    return absl::OkStatus();
  }
  last_ = manifest.status();
  if (IsDamage(last_)) return TryTheOneBefore(last_, now);
  again_ = now + kPause;
  return absl::OkStatus();
}

absl::Status Recovery::TryTheOneBefore(const absl::Status& why, absl::Time now) {
  if (sources_.size() == 1) {
    return absl::DataLossError(
        absl::StrCat("no checkpoint is left to return to; the last tried: ", why.message()));
  }
  const absl::Time begun = begun_;
  sources_.pop_back();
  Begin(std::move(sources_), now);
  begun_ = begun;
  last_ = why;
  return absl::OkStatus();
}

void Recovery::BeginLoading(std::set<uint32_t> shards) {
  CAPSTAN_CHECK(found());
  phase_ = Phase::kLoading;
  loading_ = std::move(shards);
}

v1::LoadPartitionsRequest Recovery::RequestTo(const std::vector<uint32_t>& partitions,
                                              bool coordinator) const {
  v1::LoadPartitionsRequest request;
  request.set_uri(source().uri);
  request.set_parameters_only(source().parameters_only);
  request.mutable_partitions()->Assign(partitions.begin(), partitions.end());
  if (!coordinator || source().uri.empty() || source().parameters_only) return request;
  v1::CoordinatorStart& start = *request.mutable_coordinator();
  *start.mutable_last() = manifest_.progress().last_closed();
  for (const v1::LaneProgress& lane : manifest_.progress().lanes()) {
    v1::LaneCursor& cursor = *start.add_lanes();
    cursor.set_cursor(lane.cursor());
    cursor.set_ended(lane.ended());
  }
  return request;
}

void Recovery::OnLoaded(uint32_t shard, const v1::LoadPartitionsReply& reply) {
  if (phase_ == Phase::kLoading && loading_.erase(shard) > 0) rows_ += reply.rows();
}

void Recovery::OnReplaced(uint32_t shard) {
  if (phase_ == Phase::kLoading) loading_.insert(shard);
}

absl::Status Recovery::OnDamaged(const absl::Status& why, absl::Time now) {
  if (phase_ != Phase::kLoading) return absl::OkStatus();
  return TryTheOneBefore(why, now);
}

}  // namespace capstan::chief
