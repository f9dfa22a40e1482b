// One synchronous part (dense or sparse) of a partition: gradients are staged, at most one round of
// them, until it is known that they belong to the round: by the coordinator's news, one by one in
// the order of the lanes, or by the round commit, all at once.
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

// By what the gradient of a lane is weighed in the sum of its round.
struct LaneWeighing {
  uint32_t batch_size = 1;  // Records of one batch of a lane.
  bool sum_loss = false;    // Lanes' gradients are of sums, not of means.
};

// Thread-compatible.
class LanePart {
 public:
  LanePart(Part part, const LaneWeighing& weighing) : part_(part), weighing_(weighing) {}

  // STAGED or OLD_GENERATION. What this generation has staged already stays, the repetition is
  // discarded: a round must hold one computation of a lane on every shard. So is whatever comes
  // from a lane whose turn is over: if it is not the gradient that was added, the coordinator will
  // not count it.
  Decision Stage(const LaneGradient& gradient);

  // Adds the staged gradients that are counted, as far as all lower lanes are added or at their
  // end. REQUIRES: the counts are of the round that is staged, which closes with every lane that
  // has data.
  void AddCounted(const LaneCounts& counts, Decision& decision);

  // Applies what has been added and the staged gradients which the set names, in lane order, and
  // discards the others. A lane of the set that has staged nothing here had no gradient for this
  // partition.
  void Close(const RoundCommit& set, uint64_t& version, Decision& decision);

  // Whether there is something of the open round, staged or added.
  bool holds() const { return added_ > 0 || !staged_.empty(); }

  std::string DebugString() const;

 private:
  struct Staged {
    Generation generation;
    GradientHandle handle{};
  };

  Part part_;
  LaneWeighing weighing_;
  LaneIndex turn_{};    // The lowest lane that is neither added nor at its end.
  uint32_t added_ = 0;  // Gradients, in the round that is staged.
  std::map<LaneIndex, Staged> staged_;
  std::map<LaneIndex, Generation> fences_;  // Highest generation seen of each lane.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_LANE_PART_H_
