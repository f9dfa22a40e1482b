// What worlds are made of seeds, and how many seeds of each kind the tests play.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_SEEDS_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_SEEDS_H_

#include <cstdint>

#include "tests/simulation/sim/world.h"

namespace capstan::sim {

using MakeWorld = WorldOptions (*)(uint64_t seed);

// In each of the parts into which the seeds are divided.
struct SeedCounts {
  uint64_t any = 170;
  uint64_t moves = 25;
  uint64_t backups = 5;  // These take three times as long.
};

// The command line may say otherwise, before the tests begin.
inline SeedCounts g_seed_counts;

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_SEEDS_H_
