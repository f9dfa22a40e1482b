// One synchronous part (dense or sparse) of a partition. Gradients of at most one round are staged
// until it is known that they belong to the round. The coordinator's news say so for single lanes,
// whose gradients are added in the order of the lanes; the round commit says so for all at once.
#ifndef CAPSTAN_PS_MACHINES_LANE_PART_H_
#define CAPSTAN_PS_MACHINES_LANE_PART_H_

#include <cstdint>
#include <map>
#include <string>

#include "capstan/base/ids.h"
#include "capstan/consistency/lane_counts.h"
#include "capstan/consistency/round_commit.h"
#include "ps/machines/decision.h"

namespace capstan::ps {

struct LaneGradient {
  LaneIndex lane{};
  Generation generation;
  uint64_t round = 0;
  GradientHandle handle{};
};

// Determines the weight of a lane's gradient in the sum of its round.
struct LaneWeighing {
  uint32_t batch_size = 1;  // Records of one batch of a lane.
  bool sum_loss = false;    // A lane's loss is the sum of its records' losses, not their mean.
};

// Thread-compatible.
class LanePart {
 public:
  LanePart(Part part, const LaneWeighing& weighing) : part_(part), weighing_(weighing) {}

  // Outcome: STAGED or OLD_GENERATION. If this generation of the lane has already staged a
  // gradient, that one stays and the repetition is discarded: all shards must hold the same
  // computation of a lane in a round. A gradient of a lane whose turn is over is discarded, too:
  // either it has been added before, or the coordinator will not count it.
  Decision Stage(const LaneGradient& gradient);

  // Adds the staged gradients that `counts` names, in ascending order of the lanes, and stops at
  // the first lane that neither is counted nor has ended. REQUIRES: `counts` is of the round that
  // is staged, and this round closes with every lane that has data.
  void AddCounted(const LaneCounts& counts, Decision& decision);

  // Closes the round of `set`: applies the sum and the staged gradients of the lanes in `set`, in
  // lane order, and discards the other staged ones. A lane of the set that has staged nothing here
  // had no gradient for this partition. Advances `version` if there is anything to apply.
  void Close(const RoundCommit& set, uint64_t& version, Decision& decision);

  // Returns true if any gradient of the open round is staged or added.
  bool holds() const { return added_ > 0 || !staged_.empty(); }

  std::string DebugString() const;

 private:
  struct Staged {
    Generation generation;
    GradientHandle handle{};
  };

  Part part_;
  LaneWeighing weighing_;
  LaneIndex turn_{};    // The lowest lane that has neither been added nor ended.
  uint32_t added_ = 0;  // How many gradients were added in the round that is staged.
  std::map<LaneIndex, Staged> staged_;
  std::map<LaneIndex, Generation> fences_;  // The highest generation seen of each lane.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_LANE_PART_H_
