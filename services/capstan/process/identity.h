// Who a process is, and where others find it.
#ifndef CAPSTAN_PROCESS_IDENTITY_H_
#define CAPSTAN_PROCESS_IDENTITY_H_

#include <string>

#include "capstan/base/ids.h"

namespace capstan {

std::string HostName();

// "10.0.0.7:7000" -> "10.0.0.7"
std::string HostOf(const std::string& address);

// Drawn at random, never 0: no other process ever has it.
Incarnation NewIncarnation();

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_IDENTITY_H_
