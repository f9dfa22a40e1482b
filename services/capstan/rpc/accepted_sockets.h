// The connections of a port of this process, as the kernel has them. gRPC knows no way to end one.
#ifndef CAPSTAN_RPC_ACCEPTED_SOCKETS_H_
#define CAPSTAN_RPC_ACCEPTED_SOCKETS_H_

#include <cstddef>
#include <vector>

namespace capstan {

struct AcceptedSocket {
  int fd;
  size_t unread;  // Bytes that have come and were not read yet.
};

// Those connected to `port`, at this moment. Thread-safe.
std::vector<AcceptedSocket> AcceptedSockets(int port);

// Ends the connection, and throws away what was not read. Its owner is told when it next reads, and
// closes it as one that its peer has reset. A connection that was closed meanwhile, and whose
// number has gone to another one, takes that one with it: no loss to a client that repeats its
// calls.
void HangUp(const AcceptedSocket& socket);

}  // namespace capstan

#endif  // CAPSTAN_RPC_ACCEPTED_SOCKETS_H_
