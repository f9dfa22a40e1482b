// Checks whether a server answers at a port, or no process listens there any more.
#ifndef CAPSTAN_RPC_PORT_ANSWERS_H_
#define CAPSTAN_RPC_PORT_ANSWERS_H_

#include <string>

#include "absl/time/time.h"

namespace capstan {

// Connects, sends the beginning of an HTTP/2 connection, and waits for any answer: settings, a TLS
// alert, or the connection being closed, as by a process that has too many connections. Returns
// false if the port is closed, or nothing has arrived within `patience`: a connection to a socket
// that listens but is never accepted from is established by the system alone.
bool PortAnswers(const std::string& host, int port, absl::Duration patience);

// Returns true if the machine answers that nobody listens at the port: the process that did has
// ended. Returns false if somebody does, or if it is not known, because the machine cannot be found
// or does not answer within `patience`.
bool PortRefuses(const std::string& host, int port, absl::Duration patience);

}  // namespace capstan

#endif  // CAPSTAN_RPC_PORT_ANSWERS_H_
