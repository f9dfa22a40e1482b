// The format in which chiefs store the state of a job (v1::ChiefState.format).
#ifndef CAPSTAN_CHECKPOINT_STATE_FORMAT_H_
#define CAPSTAN_CHECKPOINT_STATE_FORMAT_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/v1/chief_state.pb.h"

namespace capstan {

// Adding fields does not change the format. The number increases when a program that does not know
// the new format would misinterpret such a state.
inline constexpr uint32_t kStateFormat = 1;

// Checks that this program knows the format of a state that was read from `name`.
// FAILED_PRECONDITION: it does not; the message calls this program `reader`, such as "chief".
absl::Status CheckStateFormat(std::string_view name, const v1::ChiefState& state,
                              std::string_view reader);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_STATE_FORMAT_H_
