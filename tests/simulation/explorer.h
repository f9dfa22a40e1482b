// Tries all interleavings of a small world, and random ones of a larger.
#ifndef CAPSTAN_TESTS_SIMULATION_EXPLORER_H_
#define CAPSTAN_TESTS_SIMULATION_EXPLORER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tests/simulation/world.h"

namespace capstan::simulation {

struct Verdict {
  std::string violation;           // Empty: every rule held.
  std::vector<std::string> trace;  // How it came to that.
  size_t states = 0;               // Distinct ones.
  bool complete = true;  // Every reachable state was seen, none was left at the depth or the limit.
  friend std::ostream& operator<<(std::ostream& out, const Verdict& verdict);
};

struct ExploreOptions {
  int depth = 200;              // Steps from the beginning.
  size_t most_states = 400000;  // Then it gives up, incomplete.
};

// Depth-first, each state once. Beside the world's own rules: in no state is the job stuck, that
// is, as long as it is not done something can happen that is no fault.
Verdict Explore(const SmallWorldOptions& world, const ExploreOptions& options = {});

// `walks` random walks of up to `depth` steps, in which faults are as likely as anything else, each
// brought to its end without faults. A seed is one walk.
Verdict Walk(const SmallWorldOptions& world, uint64_t first_seed, int walks, int depth);

// One run in which nothing goes wrong.
Verdict Calm(const SmallWorldOptions& world);

}  // namespace capstan::simulation

#endif  // CAPSTAN_TESTS_SIMULATION_EXPLORER_H_
