#include "chief/duties/shard_duty.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/status.h"
#include "chief/duties/check_wire_version.h"

namespace capstan::chief {
namespace {

constexpr size_t kMostSpareShards = 64;
// A spare shard tries to register every second; after this time without an attempt it is gone.
constexpr absl::Duration kSpareShardIsThere = absl::Seconds(15);
// Shards that wait to leave send five heartbeats per second.
constexpr absl::Duration kLeftAfter = absl::Seconds(2);

}  // namespace

absl::StatusOr<ShardTable::Arrival> ShardDuty::Register(const v1::RegisterShardRequest& request,
                                                        absl::Time now) {
  CAPSTAN_RETURN_IF_ERROR(CheckWireVersion(request.wire_version()));
  if (request.index() >= job_->placement.shards.most()) NoteSpare(request.index(), now);
  CAPSTAN_ASSIGN_OR_RETURN(const ShardTable::Arrival arrival,
                           job_->placement.shards.Register(request, now));
  if (arrival != ShardTable::Arrival::kSame) {
    job_->outbox.Log(LogEvent::Level::kInfo, "shard registered",
                     {{"shard", absl::StrCat(request.index())}, {"address", request.address()}});
  }
  job_->placement.heard_of_shards = true;
  return arrival;
}

bool ShardDuty::Replaces(const v1::RegisterShardRequest& request) const {
  return CheckWireVersion(request.wire_version()).ok() && job_->placement.shards.Replaces(request);
}

absl::Status ShardDuty::CheckFree(uint32_t index, bool watched, absl::Time now) const {
  const Shard& shard = *job_->placement.shards.Find(index);
  // A shard that has only announced to leave may not be replaced: what it owns would be lost.
  const bool has_left = shard.draining && !job_->placement.views.Owns(index);
  if (!watched || has_left || job_->placement.hearing.IsSilent(shard, now)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "there is a shard ", index, " at ", shard.address, ", heard of ",
      absl::FormatDuration(now - shard.heard),
      " ago; another process may take its place once it has ended, or has been silent for ",
      absl::FormatDuration(job_->placement.hearing.patience()), "; ask again"));
}

v1::RegisterShardReply ShardDuty::Welcome() const {
  v1::RegisterShardReply reply;
  *reply.mutable_job() = job_->plan.spec;
  reply.set_seal_key(job_->training.sealer.key());
  reply.set_from(job_->recovery.from);
  return reply;
}

const Shard* ShardDuty::Hear(const v1::ShardHeartbeatRequest& request, absl::Time now) {
  const uint32_t index = request.index();
  Shard* shard = job_->placement.shards.Find(index, Incarnation{request.incarnation()});
  if (shard == nullptr || !ShardTable::IsOwnSecret(*shard, request.secret())) return nullptr;
  if (request.draining() && !shard->draining) {
    job_->outbox.Log(LogEvent::Level::kInfo, "shard leaving", {{"shard", absl::StrCat(index)}});
  }
  ShardTable::Hear(*shard, request, now);
  job_->recovery.lost_updates.Hear(index, request.incarnation(), request.report());
  job_->placement.loads.Hear(index, request.incarnation(), shard->report,
                             job_->placement.views.current(), now);
  job_->placement.heard_of_shards = true;
  return shard;
}

void ShardDuty::NoteNumbered(uint32_t index) {
  if (job_->placement.shards.NoteNumbered(index)) job_->writer.Note();
}

bool ShardDuty::MayBeUnnumbered(uint32_t index) const {
  switch (job_->options.unnumbered_shards) {
    case UnnumberedShards::kAccept:
      return true;
    case UnnumberedShards::kUntilNumbered:
      return !job_->placement.shards.numbered().contains(index);
    case UnnumberedShards::kRefuse:
      break;
  }
  return false;
}

std::string ShardDuty::AddressOf(uint32_t index, uint64_t incarnation) const {
  const Shard* shard = job_->placement.shards.Find(index);
  if (shard == nullptr || shard->gone || Raw(shard->incarnation) != incarnation) return "";
  return shard->address;
}

bool ShardDuty::SeesShardsOff(absl::Time now) const {
  const auto& shards = job_->placement.shards.shards();
  return std::any_of(shards.begin(), shards.end(), [now](const auto& shard) {
    return shard.second.draining && now - shard.second.heard < kLeftAfter;
  });
}

// A shard with an index for which there is no partition has tried to register.
void ShardDuty::NoteSpare(uint32_t index, absl::Time now) {
  if (spare_shards_.size() < kMostSpareShards || spare_shards_.contains(index)) {
    spare_shards_[index] = now;
  }
}

// Spare shards are those whose index is not below partition_count.
void ShardDuty::WatchSpares(absl::Time now) {
  std::erase_if(spare_shards_,
                [now](const auto& shard) { return now - shard.second > kSpareShardIsThere; });
  std::string sentence;
  if (!spare_shards_.empty() && !job_->ended()) {
    const std::string names = absl::StrJoin(
        spare_shards_, ", ",
        [](std::string* out, const auto& shard) { absl::StrAppend(out, "ps-", shard.first); });
    sentence =
        absl::StrCat(names, spare_shards_.size() == 1 ? " is" : " are", " of no use: the job has ",
                     job_->placement.shards.most(),
                     " partitions (partition_count), and no more shards than that can hold any");
  }
  job_->outbox.Warn("spare shards", std::move(sentence));
}

}  // namespace capstan::chief
