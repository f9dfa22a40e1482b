// The version of the protocol of proto/capstan/v1 as a whole.
#ifndef CAPSTAN_BASE_WIRE_VERSION_H_
#define CAPSTAN_BASE_WIRE_VERSION_H_

#include <cstdint>

namespace capstan {

// Every request and registration carries it. A peer with another version gets UNIMPLEMENTED.
inline constexpr uint32_t kWireVersion = 1;

}  // namespace capstan

#endif  // CAPSTAN_BASE_WIRE_VERSION_H_
