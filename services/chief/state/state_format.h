// The format in which chiefs store the state of a job (v1::ChiefState.format).
#ifndef CAPSTAN_CHIEF_STATE_STATE_FORMAT_H_
#define CAPSTAN_CHIEF_STATE_STATE_FORMAT_H_

#include <cstdint>

namespace capstan::chief {

// Fields are added without a new format. It rises when a chief that does not know the new format
// would go on wrongly from such a state.
inline constexpr uint32_t kStateFormat = 1;

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_STATE_FORMAT_H_
