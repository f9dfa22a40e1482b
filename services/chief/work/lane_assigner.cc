#include "chief/work/lane_assigner.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace capstan::chief {
namespace {

struct Share {
  TrainerId trainer;
  size_t held = 0;
  size_t quota = 0;
};

// Returns how many lanes each trainer should have. Those that hold most get one of the remaining
// lanes, so that the fewest lanes move.
std::vector<Share> Quotas(std::span<const std::optional<TrainerId>> holders,
                          std::span<const TrainerId> trainers) {
  absl::flat_hash_map<TrainerId, size_t> held;
  for (const std::optional<TrainerId>& holder : holders) {
    if (holder) ++held[*holder];
  }
  std::vector<Share> shares;
  for (TrainerId trainer : trainers) shares.push_back({trainer, held[trainer], 0});
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.held > b.held; });
  for (size_t i = 0; i < shares.size(); ++i) {
    shares[i].quota = holders.size() / shares.size() + (i < holders.size() % shares.size() ? 1 : 0);
  }
  return shares;
}

// Chooses `taken` of `all` items in a row, evenly spread. TakesNext is called for each item in
// order.
class Spread {
 public:
  Spread() = default;
  Spread(size_t all, size_t taken) : all_(all), taken_(taken) {}

  bool TakesNext() { return next_++ * taken_ % all_ < taken_; }

 private:
  size_t all_ = 0;
  size_t taken_ = 0;
  size_t next_ = 0;
};

}  // namespace

std::vector<std::optional<TrainerId>> AssignLanes(std::span<const std::optional<TrainerId>> holders,
                                                  std::span<const TrainerId> trainers) {
  std::vector<std::optional<TrainerId>> assigned(holders.size());
  if (trainers.empty()) return assigned;
  const std::vector<Share> shares = Quotas(holders, trainers);
  absl::flat_hash_map<TrainerId, size_t> room;
  absl::flat_hash_map<TrainerId, Spread> kept;
  for (const Share& share : shares) {
    room[share.trainer] = share.quota;
    kept[share.trainer] = {share.held, std::min(share.held, share.quota)};
  }
  for (size_t lane = 0; lane < holders.size(); ++lane) {
    if (!holders[lane]) continue;
    const auto found = kept.find(*holders[lane]);
    if (found == kept.end() || !found->second.TakesNext()) continue;
    --room[*holders[lane]];
    assigned[lane] = holders[lane];
  }
  // Gives the trainers one lane after the other in turn, so that neighbouring lanes have different
  // trainers.
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
