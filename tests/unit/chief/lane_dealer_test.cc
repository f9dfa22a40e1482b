#include "chief/lane_dealer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "capstan/base/hash.h"

namespace capstan::chief {
namespace {

using Holders = std::vector<std::optional<MemberId>>;

constexpr MemberId kA{1};
constexpr MemberId kB{2};
constexpr MemberId kC{3};

TEST(LaneDealerTest, DealsNeighbouringLanesToDifferentMembers) {
  const std::vector<MemberId> members = {kA, kB};
  EXPECT_EQ(DealLanes(Holders(4), members), (Holders{kA, kB, kA, kB}));
}

TEST(LaneDealerTest, MovesOnlyWhatANewcomerIsOwed) {
  const std::vector<MemberId> members = {kA, kB, kC};
  const Holders before = {kA, kB, kA, kB, kA, kB};
  const Holders after = DealLanes(before, members);
  EXPECT_EQ(after, (Holders{kA, kB, kA, kB, kC, kC}));
}

TEST(LaneDealerTest, LeavesTheOddLaneWithItsHolder) {
  const std::vector<MemberId> members = {kA, kB};
  const Holders before = {kB, kA, kB};
  EXPECT_EQ(DealLanes(before, members), before);
}

TEST(LaneDealerTest, TakesTheLanesOfThoseWhoAreGone) {
  const std::vector<MemberId> members = {kB};
  EXPECT_EQ(DealLanes(Holders{kA, kB}, members), (Holders{kB, kB}));
}

TEST(LaneDealerTest, LeavesLanesWithoutHolderWhenNobodyIsThere) {
  EXPECT_EQ(DealLanes(Holders{kA, std::nullopt}, {}), (Holders{std::nullopt, std::nullopt}));
}

TEST(LaneDealerTest, LeavesMembersIdleWhenLanesAreFew) {
  const std::vector<MemberId> members = {kA, kB, kC};
  EXPECT_EQ(DealLanes(Holders(1), members), (Holders{kA}));
}

// Over many random comings and goings: always even, and never more moves than the quotas demand.
TEST(LaneDealerTest, StaysEvenAndMovesAsFewAsPossible) {
  Holders lanes(17);
  for (uint64_t step = 0; step < 2000; ++step) {
    std::vector<MemberId> members;
    for (uint64_t id = 1; id <= 9; ++id) {
      if (Draw(7, step, id) % 2 == 0) members.push_back(MemberId{id});
    }
    const Holders after = DealLanes(lanes, members);
    std::map<MemberId, size_t> before_count;
    std::map<MemberId, size_t> count;
    for (MemberId member : members) count[member] = 0;
    size_t moved = 0;
    for (size_t l = 0; l < lanes.size(); ++l) {
      if (lanes[l]) ++before_count[*lanes[l]];
      if (after[l]) ++count[*after[l]];
      if (after[l] != lanes[l]) ++moved;
    }
    if (!members.empty()) {
      size_t least = lanes.size();
      size_t most = 0;
      size_t kept = 0;  // The most lanes that any even deal could leave where they are.
      std::vector<size_t> held;
      for (const auto& [member, lanes_now] : count) {
        least = std::min(least, lanes_now);
        most = std::max(most, lanes_now);
        held.push_back(before_count[member]);
      }
      std::sort(held.rbegin(), held.rend());
      for (size_t i = 0; i < held.size(); ++i) {
        const size_t quota = lanes.size() / held.size() + (i < lanes.size() % held.size() ? 1 : 0);
        kept += std::min(held[i], quota);
      }
      EXPECT_LE(most - least, 1u);
      EXPECT_EQ(moved, lanes.size() - kept) << "step " << step;
    }
    lanes = after;
  }
}

}  // namespace
}  // namespace capstan::chief
