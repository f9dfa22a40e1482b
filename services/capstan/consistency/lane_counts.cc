#include "capstan/consistency/lane_counts.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"

namespace capstan {
namespace {

absl::StatusOr<LaneIndex> LaneFromProto(uint32_t lane) {
  if (lane < INT32_MAX) return static_cast<LaneIndex>(lane);
  return absl::InvalidArgumentError(absl::StrCat("news of lane ", lane, ", which no job has"));
}

}  // namespace

absl::StatusOr<LaneNews> LaneNewsFromProto(const v1::WatchCountsReply& proto) {
  LaneNews news{proto.round(), {}, {}};
  for (const v1::ClosedLane& lane : proto.counted()) {
    CAPSTAN_ASSIGN_OR_RETURN(const LaneIndex index, LaneFromProto(lane.lane()));
    news.counted.push_back({index, GenerationFromProto(lane.generation()), lane.examples()});
  }
  for (uint32_t lane : proto.ended()) {
    CAPSTAN_ASSIGN_OR_RETURN(const LaneIndex index, LaneFromProto(lane));
    news.ended.push_back(index);
  }
  return news;
}

void ToProto(const LaneNews& news, v1::WatchCountsReply& proto) {
  proto.set_round(news.round);
  for (const ClosedLane& lane : news.counted) ToProto(lane, *proto.add_counted());
  for (LaneIndex lane : news.ended) proto.add_ended(static_cast<uint32_t>(Raw(lane)));
}

void LaneCounts::Learn(const LaneNews& news) {
  ended_.insert(news.ended.begin(), news.ended.end());
  if (news.round < round_) return;
  if (news.round > round_) counted_.clear();
  round_ = news.round;
  for (const ClosedLane& lane : news.counted) counted_.try_emplace(lane.lane, lane);
}

const ClosedLane* LaneCounts::FindCounted(LaneIndex lane) const {
  const auto found = counted_.find(lane);
  return found == counted_.end() ? nullptr : &found->second;
}

LaneIndex LaneCounts::NextOf(uint64_t round) const {
  int32_t lane = 0;
  while (IsAtEnd(LaneIndex{lane}) || (round == round_ && FindCounted(LaneIndex{lane}) != nullptr)) {
    ++lane;
  }
  return LaneIndex{lane};
}

}  // namespace capstan
