// Explains why a process cannot listen on an address, for the person who has chosen the address.
#ifndef CAPSTAN_BASE_CANNOT_LISTEN_H_
#define CAPSTAN_BASE_CANNOT_LISTEN_H_

#include <string>

#include "absl/status/status.h"

namespace capstan {

// Returns UNAVAILABLE with a message such as "cannot listen on 127.0.0.1:7000: the port is in use,
// by chief (process 1234); end it, or take another port, 0 for any free one". The process that has
// the port is named only if it belongs to the same user. `address`: host:port.
absl::Status CannotListen(const std::string& address);

// The same for a caller that knows the errno with which listening failed.
absl::Status CannotListen(const std::string& address, int error);

}  // namespace capstan

#endif  // CAPSTAN_BASE_CANNOT_LISTEN_H_
