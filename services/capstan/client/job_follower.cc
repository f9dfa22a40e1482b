#include "capstan/client/job_follower.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/base/status.h"
#include "capstan/rpc/view_watch.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job_reader.pb.h"

namespace capstan {
namespace {

constexpr absl::Duration kDescribeTimeout = absl::Seconds(5);

}  // namespace

absl::StatusOr<Channel> JobFollower::Chief() {
  CAPSTAN_ASSIGN_OR_RETURN(std::string address, resolver_.Resolve(chief_.address));
  if (to_chief_ == nullptr || address != chief_.dialled) {
    to_chief_ = NewChannel(address, Role::kChief, tls_);
    chief_.dialled = std::move(address);
  }
  return to_chief_;
}

void JobFollower::Follow() {
  if (following_) return;
  const absl::StatusOr<Channel> chief = Chief();
  if (!chief.ok()) return End(chief.status());
  following_ = true;
  loop_.Call<v1::DescribeJobReply>(*chief, "/capstan.v1.JobReader/DescribeJob",
                                   v1::DescribeJobRequest(), kDescribeTimeout,
                                   [this](absl::StatusOr<v1::DescribeJobReply> reply) {
                                     if (!reply.ok()) return End(reply.status());
                                     told_ = std::move(*reply->mutable_job());
                                     view_.reset();
                                     status_ = absl::OkStatus();
                                     Watch();
                                   });
}

void JobFollower::Watch() {
  WatchView(
      loop_, to_chief_, v1::WatchViewRequest(),
      [this](v1::View view) {
        if (view.owners().empty()) return;
        view_ = std::move(view);
        ++heard_;
      },
      [this](const absl::Status& end) {
        End(end.ok() ? absl::UnavailableError("the chief has ended the stream of views") : end);
      });
}

void JobFollower::End(const absl::Status& status) {
  following_ = false;
  status_ = status;
}

const v1::JobSpec* JobFollower::job() const {
  if (told_) return &*told_;
  return known_ == nullptr ? nullptr : &known_->job;
}

absl::StatusOr<JobFollower::Known*> JobFollower::Adopt() {
  if (told_ && view_) {
    CAPSTAN_ASSIGN_OR_RETURN(ParameterMap map, ParameterMap::Create(*told_));
    known_ = std::make_unique<Known>(*std::exchange(told_, std::nullopt), std::move(map));
    known_->shards.emplace(loop_, known_->map, PsClientOptions{.channels = channels_});
  }
  if (view_ && !told_) GoBy(*std::exchange(view_, std::nullopt));
  if (known_ == nullptr || known_->shards->owners().empty()) {
    return absl::UnavailableError("no shard serves the job's parameters yet");
  }
  return known_.get();
}

// A shard with the same address and incarnation as before is dialled where it was dialled last, so
// that its connection is kept.
void JobFollower::GoBy(v1::View view) {
  absl::flat_hash_map<uint32_t, Place> places;
  for (v1::ShardInfo& shard : *view.mutable_shards()) {
    Place place{.address = shard.address(), .incarnation = shard.incarnation()};
    const auto before = places_.find(shard.index());
    if (before != places_.end() && before->second.IsSameAs(place)) place = before->second;
    if (!place.dialled.empty()) shard.set_address(place.dialled);
    places[shard.index()] = std::move(place);
  }
  if (!known_->shards->SetView(view)) return;
  for (const auto& [index, before] : places_) {
    const auto now = places.find(index);
    if (now == places.end() || !now->second.IsSameAs(before)) resolver_.Forget(before.address);
  }
  places_ = std::move(places);
}

absl::Status JobFollower::Reach(absl::Span<const ShardIndex> shards) {
  absl::Status reached;
  for (const ShardIndex shard : shards) {
    const auto place = places_.find(static_cast<uint32_t>(Raw(shard)));
    if (place == places_.end()) continue;  // PsClient will report this.
    const absl::StatusOr<std::string> address = resolver_.Resolve(place->second.address);
    reached.Update(address.status());
    if (!address.ok()) continue;
    place->second.dialled = *address;
    known_->shards->LeadTo(shard, *address);
  }
  return reached;
}

void JobFollower::ForgetAll() {
  resolver_.Forget(chief_.address);
  for (const auto& [index, place] : places_) resolver_.Forget(place.address);
}

}  // namespace capstan
