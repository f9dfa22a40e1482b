// Tells whether a port takes connections and answers on them, or no process is behind it any more.
#ifndef CAPSTAN_RPC_PORT_ANSWERS_H_
#define CAPSTAN_RPC_PORT_ANSWERS_H_

#include <string>

#include "absl/time/time.h"

namespace capstan {

// Connects, sends what a client of HTTP/2 sends first, and waits for any answer: settings, a TLS
// alert, or that the connection is closed, as a process does that has too many. Returns false if
// the port is closed, or nothing has come within `patience`: for a socket that listens but is never
// accepted from, the system alone takes the connection.
bool PortAnswers(const std::string& host, int port, absl::Duration patience);

// Returns true if the machine says that nobody listens at the port: the process that did has ended.
// Returns false if somebody does, or nothing is known, because the machine cannot be found or does
// not answer within `patience`.
bool PortRefuses(const std::string& host, int port, absl::Duration patience);

}  // namespace capstan

#endif  // CAPSTAN_RPC_PORT_ANSWERS_H_
