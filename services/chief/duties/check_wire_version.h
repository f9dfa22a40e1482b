// Processes may register only if they speak the chief's version of the wire.
#ifndef CAPSTAN_CHIEF_DUTIES_CHECK_WIRE_VERSION_H_
#define CAPSTAN_CHIEF_DUTIES_CHECK_WIRE_VERSION_H_

#include <cstdint>

#include "absl/status/status.h"

namespace capstan::chief {

// FAILED_PRECONDITION: the peer speaks another version.
[[nodiscard]] absl::Status CheckWireVersion(uint32_t version);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_CHECK_WIRE_VERSION_H_
