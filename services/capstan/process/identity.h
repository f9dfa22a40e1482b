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

// Where others are told to find a process: as `advertise` says; if that is empty, on the host that
// it listens on, which is this machine's name where it listens on every address, and on `port`.
std::string AddressToTell(const std::string& advertise, const std::string& listen, int port);

// Drawn at random, never 0: nobody else ever draws the same.
uint64_t RandomId();

// Draws the incarnation of this process, by RandomId().
Incarnation NewIncarnation();

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_IDENTITY_H_
