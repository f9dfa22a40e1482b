// The version of the wire: of proto/capstan/v1 as a whole.
#ifndef CAPSTAN_BASE_WIRE_VERSION_H_
#define CAPSTAN_BASE_WIRE_VERSION_H_

#include <cstdint>

namespace capstan {

// Carried by every request and registration. A peer that speaks another one is refused:
// UNIMPLEMENTED.
inline constexpr uint32_t kWireVersion = 1;

}  // namespace capstan

#endif  // CAPSTAN_BASE_WIRE_VERSION_H_
