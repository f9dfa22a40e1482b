// Who breaks things.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_NEMESIS_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_NEMESIS_H_

#include "tests/simulation/sim/world.h"

namespace capstan::sim {

// One blow of those that the options allow, or none.
void Strike(World& world, const WorldOptions& options);

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_NEMESIS_H_
