#include "ps/shard/coordinator_watch.h"

#include <limits>
#include <utility>

#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "capstan/consistency/lane_counts.h"

namespace capstan::ps {

bool CoordinatorWatch::SetView(const v1::View& view) {
  const uint64_t before = std::exchange(incarnation_, 0);
  address_.clear();
  for (const v1::ShardInfo& shard : view.shards()) {
    if (view.owners().empty() || shard.index() != view.owners(0)) continue;
    address_ = shard.address();
    coordinator_ = shard.index();
    incarnation_ = shard.incarnation();
  }
  if (view.timeline() == timeline_ && incarnation_ == before) return false;
  // Another coordinator may send the same facts in another order, so it is asked for all of them.
  timeline_ = view.timeline();
  round_ = 0;
  counted_ = ended_ = 0;
  return true;
}

v1::WatchCountsRequest CoordinatorWatch::Request() const {
  v1::WatchCountsRequest request;
  request.mutable_header()->set_wire_version(kWireVersion);
  request.mutable_header()->set_timeline(timeline_);
  request.mutable_header()->set_target_incarnation(incarnation_);
  request.set_round(round_);
  const bool counts = watched_ == Watched::kCounts;
  request.set_commit(!counts);
  request.set_counted(counts ? counted_ : std::numeric_limits<uint32_t>::max());
  request.set_ended(counts ? ended_ : std::numeric_limits<uint32_t>::max());
  return request;
}

absl::StatusOr<bool> CoordinatorWatch::Hear(const v1::WatchCountsRequest& asked,
                                            const v1::WatchCountsReply& reply) {
  if (asked.header().timeline() != timeline_ ||
      asked.header().target_incarnation() != incarnation_) {
    return true;
  }
  if (watched_ == Watched::kCommits) return HearCommit(reply);
  CAPSTAN_ASSIGN_OR_RETURN(const LaneNews news, LaneNewsFromProto(reply));
  if (!shard_.rounds().LearnCounts(timeline_, news)) return false;
  counted_ = (news.round == asked.round() ? asked.counted() : 0) +
             static_cast<uint32_t>(news.counted.size());
  ended_ = asked.ended() + static_cast<uint32_t>(news.ended.size());
  round_ = news.round;
  return true;
}

// A coordinator of an earlier version sends another open round, and no commit: requests carry it
// then.
absl::StatusOr<bool> CoordinatorWatch::HearCommit(const v1::WatchCountsReply& reply) {
  if (reply.has_closed()) {
    CAPSTAN_ASSIGN_OR_RETURN(const bool learned, shard_.rounds().Hear(timeline_, reply.closed()));
    if (!learned) return false;
  }
  round_ = reply.round();
  return true;
}

}  // namespace capstan::ps
