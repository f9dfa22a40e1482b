// Tries all interleavings of a small world, and random ones of a larger one.
#ifndef CAPSTAN_TESTS_SIMULATION_EXPLORER_H_
#define CAPSTAN_TESTS_SIMULATION_EXPLORER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tests/simulation/chief_world.h"
#include "tests/simulation/world.h"

namespace capstan::simulation {

struct Verdict {
  std::string violation;           // Empty: every rule held.
  std::vector<std::string> trace;  // The steps that lead to the violation.
  size_t states = 0;               // How many different states were seen.
  // Every reachable state was seen: none was left out because of the depth or the limit.
  bool complete = true;
  friend std::ostream& operator<<(std::ostream& out, const Verdict& verdict);
};

struct ExploreOptions {
  int depth = 200;              // Steps from the beginning.
  size_t most_states = 400000;  // Beyond so many states the exploration gives up, incomplete.
};

// Explores depth-first, each state once. Beside the world's own rules it checks that the job is
// never stuck: in each state in which it is not done, a step is possible that is no fault.
Verdict Explore(const SmallWorldOptions& world, const ExploreOptions& options = {});

struct DeviationOptions {
  // So many times something else happens than what comes in its turn: a fault, or something that
  // overtakes others.
  int deviations = 1;
  uint64_t share = 1;          // Of the deviations after the first, one in so many is tried.
  size_t most_states = 30000;  // Beyond so many states no other deviation is tried; incomplete.
};

// Explores a world with the real chief. The job is followed to its end, with everything in its
// turn; and from each state on the way with each deviation, until there were so many. Each state is
// followed once. Beside the world's own rules it checks that the job ends.
Verdict Explore(const ChiefWorldOptions& world, const DeviationOptions& options);

// Takes `walks` random walks of up to `depth` steps, in which faults are as likely as other steps.
// Each walk is then brought to its end without faults. One seed is one walk.
Verdict Walk(const SmallWorldOptions& world, uint64_t first_seed, int walks, int depth);

// Runs the world once without faults.
Verdict Calm(const SmallWorldOptions& world);

}  // namespace capstan::simulation

#endif  // CAPSTAN_TESTS_SIMULATION_EXPLORER_H_
