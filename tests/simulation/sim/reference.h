// What a synchronous job must come to: the round commits, applied one after the other by the text.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_REFERENCE_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_REFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/consistency/round_commit.h"
#include "tests/simulation/sim/job.h"

namespace capstan::sim {

class Reference {
 public:
  explicit Reference(const Job& job);

  // Empty, or what is wrong with this set: not the one known by that round, a gap, a size that the
  // policy does not allow, a lane without data.
  std::string Close(const RoundCommit& set);

  // Back to after this round. Empty, or what is wrong with the set.
  std::string GoBack(const RoundCommit& last);

  // The end of a job in which every round closes with all lanes that have data.
  static Cells Undisturbed(const Job& job);

  // What a pull for `round` reads. REQUIRES: round - 1 is known.
  const Cells& Before(uint64_t round) const { return states_[round - 1]; }
  bool Knows(uint64_t round) const { return round < states_.size(); }  // Its round commit.
  uint64_t rounds() const { return states_.size() - 1; }

 private:
  std::string CheckSize(const RoundCommit& set) const;

  const Job* job_;
  std::vector<std::vector<NamedBatch>> lanes_;
  std::vector<uint64_t> cursors_;
  std::vector<RoundCommit> sets_;  // By round; the first is of round 0.
  std::vector<Cells> states_;      // After that round.
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_REFERENCE_H_
