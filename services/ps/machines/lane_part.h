// One synchronous part (dense or sparse) of a partition: gradients are staged, at most one round of
// them, until the round commit says which belong to the round.
#ifndef CAPSTAN_PS_MACHINES_LANE_PART_H_
#define CAPSTAN_PS_MACHINES_LANE_PART_H_

#include <cstdint>
#include <map>
#include <string>

#include "capstan/base/ids.h"
#include "capstan/consistency/round_commit.h"
#include "ps/machines/decision.h"

namespace capstan::ps {

struct LaneGradient {
  LaneIndex lane{};
  Generation generation;
  uint64_t round = 0;
  GradientHandle handle{};
};

// Thread-compatible.
class LanePart {
 public:
  LanePart(Part part, bool sum_loss) : part_(part), sum_loss_(sum_loss) {}

  // STAGED or OLD_GENERATION. What this generation has staged already stays, the repetition is
  // discarded: a round must hold one computation of a lane on every shard.
  Decision Stage(const LaneGradient& gradient);

  // Applies the staged gradients which the set names, in lane order, and discards the others. A
  // lane of the set that has staged nothing here had no gradient for this partition.
  void Close(const RoundCommit& set, uint64_t& version, Decision& decision);

  std::string DebugString() const;

 private:
  struct Staged {
    Generation generation;
    GradientHandle handle{};
  };

  Part part_;
  bool sum_loss_;
  std::map<LaneIndex, Staged> staged_;
  std::map<LaneIndex, Generation> fences_;  // Highest generation seen of each lane.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_LANE_PART_H_
