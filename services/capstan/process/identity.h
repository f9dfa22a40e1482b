// The identity of a process, and the address at which others reach it.
#ifndef CAPSTAN_PROCESS_IDENTITY_H_
#define CAPSTAN_PROCESS_IDENTITY_H_

#include <cstdint>
#include <string>

#include "capstan/base/ids.h"

namespace capstan {

std::string HostName();

// Returns the host of host:port: "10.0.0.7" of "10.0.0.7:7000", "::1" of "[::1]:7000".
std::string HostOf(const std::string& address);

// Returns the address at which other processes should reach this one: `advertise` or, if that is
// empty, `port` on the host of `listen`; if that stands for all addresses, this machine's name is
// used.
std::string AddressToTell(const std::string& advertise, const std::string& listen, int port);

// Returns a random number that is never 0, and that no other process should ever draw.
uint64_t RandomId();

// Draws the incarnation of this process with RandomId().
Incarnation NewIncarnation();

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_IDENTITY_H_
