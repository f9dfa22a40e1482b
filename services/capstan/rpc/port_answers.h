// Tells whether a port takes connections and answers on them, or has nobody behind it any more.
#ifndef CAPSTAN_RPC_PORT_ANSWERS_H_
#define CAPSTAN_RPC_PORT_ANSWERS_H_

#include <string>

#include "absl/time/time.h"

namespace capstan {

// Connects, says what a client of HTTP/2 says first, and waits for any answer: settings, an alert
// of TLS, or that the connection is closed, as it is where a process has too many. False: nothing
// has come within `patience`, or the port is closed. Of a socket that listens and is never accepted
// from the system alone takes the connection.
bool PortAnswers(const std::string& host, int port, absl::Duration patience);

// The machine says that nobody listens there: the process that did has ended. False: somebody does,
// or nothing is known, for the machine cannot be found or says nothing within `patience`.
bool PortRefuses(const std::string& host, int port, absl::Duration patience);

}  // namespace capstan

#endif  // CAPSTAN_RPC_PORT_ANSWERS_H_
