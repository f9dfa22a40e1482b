#include "chief/work/lane_assigner.h"

#include <algorithm>
#include <map>

namespace capstan::chief {
namespace {

struct Share {
  TrainerId trainer;
  size_t held = 0;
  size_t quota = 0;
};

// Those who hold most keep the odd lanes, so that fewest move.
std::vector<Share> Quotas(std::span<const std::optional<TrainerId>> holders,
                          std::span<const TrainerId> trainers) {
  std::vector<Share> shares;
  for (TrainerId trainer : trainers) {
    const auto held = std::count(holders.begin(), holders.end(), std::optional<TrainerId>(trainer));
    shares.push_back({trainer, static_cast<size_t>(held), 0});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.held > b.held; });
  for (size_t i = 0; i < shares.size(); ++i) {
    shares[i].quota = holders.size() / shares.size() + (i < holders.size() % shares.size() ? 1 : 0);
  }
  return shares;
}

}  // namespace

std::vector<std::optional<TrainerId>> AssignLanes(std::span<const std::optional<TrainerId>> holders,
                                                  std::span<const TrainerId> trainers) {
  std::vector<std::optional<TrainerId>> assigned(holders.size());
  if (trainers.empty()) return assigned;
  const std::vector<Share> shares = Quotas(holders, trainers);
  std::map<TrainerId, size_t> room;
  for (const Share& share : shares) room[share.trainer] = share.quota;

  for (size_t lane = 0; lane < holders.size(); ++lane) {
    if (!holders[lane]) continue;
    const auto left = room.find(*holders[lane]);
    if (left == room.end() || left->second == 0) continue;
    --left->second;
    assigned[lane] = holders[lane];
  }
  // One each, round and round, so that neighbouring lanes land on different trainers.
  size_t next = 0;
  for (std::optional<TrainerId>& lane : assigned) {
    if (lane) continue;
    while (room[shares[next % shares.size()].trainer] == 0) ++next;
    lane = shares[next % shares.size()].trainer;
    --room[*lane];
    ++next;
  }
  return assigned;
}

}  // namespace capstan::chief
