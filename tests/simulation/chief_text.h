// What a chief's machine knows, as a text by which the explorer tells states apart.
#ifndef CAPSTAN_TESTS_SIMULATION_CHIEF_TEXT_H_
#define CAPSTAN_TESTS_SIMULATION_CHIEF_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "capstan/v1/chief_state.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/duties/chief_machine.h"

namespace capstan::simulation {

// Returns the line of the machine at `now`. Times show as the seconds since then, or until then.
// What only people are told does not show: warnings, losses, rates, how long training takes.
std::string TextOf(const chief::ChiefMachine& machine, absl::Time now);

// Returns the line of a state, as it is stored.
std::string TextOf(v1::ChiefState state);

// Returns the line of a view, without its epoch, which grows for ever.
std::string TextOf(v1::View view);

}  // namespace capstan::simulation

#endif  // CAPSTAN_TESTS_SIMULATION_CHIEF_TEXT_H_
