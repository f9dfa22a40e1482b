// Who a process is, and where others find it.
#ifndef CAPSTAN_PROCESS_IDENTITY_H_
#define CAPSTAN_PROCESS_IDENTITY_H_

#include <cstdint>
#include <string>

#include "capstan/base/ids.h"

namespace capstan {

std::string HostName();

// "10.0.0.7:7000" -> "10.0.0.7", "[::1]:7000" -> "::1"
std::string HostOf(const std::string& address);

// Returns the address at which other processes should find this one: `advertise`, or if that is
// empty, `port` on the host of `listen`, which is replaced by this machine's name if it means every
// address.
std::string AddressToTell(const std::string& advertise, const std::string& listen, int port);

// Returns a random number that is never 0, and that no other process is expected to draw.
uint64_t RandomId();

// Draws the incarnation of this process, by RandomId().
Incarnation NewIncarnation();

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_IDENTITY_H_
