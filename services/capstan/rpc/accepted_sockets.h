// The accepted connections of a port of this process, as reported by the kernel: gRPC has no way to
// close one.
#ifndef CAPSTAN_RPC_ACCEPTED_SOCKETS_H_
#define CAPSTAN_RPC_ACCEPTED_SOCKETS_H_

#include <cstddef>
#include <vector>

namespace capstan {

struct AcceptedSocket {
  int fd;
  size_t unread;  // How many bytes were received and not read yet.
};

// Returns the sockets of this process that are connected at its port `port` at present.
// Thread-safe.
std::vector<AcceptedSocket> AcceptedSockets(int port);

// Shuts the connection down, and discards what was not read. When gRPC, which owns the socket, next
// reads from it, it closes it as if the peer had reset it. If the connection was closed meanwhile
// and its descriptor belongs to another one, that one is shut down: its client repeats its calls,
// so nothing is lost.
void HangUp(const AcceptedSocket& socket);

}  // namespace capstan

#endif  // CAPSTAN_RPC_ACCEPTED_SOCKETS_H_
