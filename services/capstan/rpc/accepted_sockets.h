// The accepted connections of a port of this process, as the kernel has them: gRPC has no way to
// end one.
#ifndef CAPSTAN_RPC_ACCEPTED_SOCKETS_H_
#define CAPSTAN_RPC_ACCEPTED_SOCKETS_H_

#include <cstddef>
#include <vector>

namespace capstan {

struct AcceptedSocket {
  int fd;
  size_t unread;  // Bytes that have been received and not read yet.
};

// Returns the sockets of this process that are connected at its port `port` now. Thread-safe.
std::vector<AcceptedSocket> AcceptedSockets(int port);

// Ends the connection, and throws away what was not read. When gRPC, which owns the socket, next
// reads from it, it closes it as if the peer had reset it. If the connection was closed meanwhile
// and its descriptor belongs to another one, this ends that one: its client repeats its calls, so
// nothing is lost.
void HangUp(const AcceptedSocket& socket);

}  // namespace capstan

#endif  // CAPSTAN_RPC_ACCEPTED_SOCKETS_H_
