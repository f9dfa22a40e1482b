#include "chief/lane_dealer.h"

#include <algorithm>
#include <map>

namespace capstan::chief {
namespace {

struct Share {
  MemberId member;
  size_t held = 0;
  size_t quota = 0;
};

// Those who hold most keep the odd lanes, so that fewest move.
std::vector<Share> Quotas(std::span<const std::optional<MemberId>> holders,
                          std::span<const MemberId> members) {
  std::vector<Share> shares;
  for (MemberId member : members) {
    const auto held = std::count(holders.begin(), holders.end(), std::optional<MemberId>(member));
    shares.push_back({member, static_cast<size_t>(held), 0});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.held > b.held; });
  for (size_t i = 0; i < shares.size(); ++i) {
    shares[i].quota = holders.size() / shares.size() + (i < holders.size() % shares.size() ? 1 : 0);
  }
  return shares;
}

}  // namespace

std::vector<std::optional<MemberId>> DealLanes(std::span<const std::optional<MemberId>> holders,
                                               std::span<const MemberId> members) {
  std::vector<std::optional<MemberId>> dealt(holders.size());
  if (members.empty()) return dealt;
  const std::vector<Share> shares = Quotas(holders, members);
  std::map<MemberId, size_t> room;
  for (const Share& share : shares) room[share.member] = share.quota;

  for (size_t lane = 0; lane < holders.size(); ++lane) {
    if (!holders[lane]) continue;
    const auto left = room.find(*holders[lane]);
    if (left == room.end() || left->second == 0) continue;
    --left->second;
    dealt[lane] = holders[lane];
  }
  // One each, round and round, so that neighbouring lanes land on different members.
  size_t next = 0;
  for (std::optional<MemberId>& lane : dealt) {
    if (lane) continue;
    while (room[shares[next % shares.size()].member] == 0) ++next;
    lane = shares[next % shares.size()].member;
    --room[*lane];
    ++next;
  }
  return dealt;
}

}  // namespace capstan::chief
