// Creates the channels of all Capstan processes, so that keepalive, reconnection and message limits
// agree with the servers of capstan/rpc/server.h.
#ifndef CAPSTAN_RPC_CHANNEL_H_
#define CAPSTAN_RPC_CHANNEL_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "capstan/security/tls.h"

namespace capstan {

// Many threads may use one channel. It is shared with gRPC's calls, which keep it alive.
using Channel = std::shared_ptr<grpc::Channel>;

// Returns a channel to `address` (host:port, or unix:path). It connects in the background when it
// is first used, and again after every loss, with limited back-off and jitter; it resolves names
// again at most once a second. It notices within 15 s that a peer has silently vanished, even if no
// call is under way. Channels created here never share a connection. Never fails; calls on the
// channel do. With `tls` the channel presents that identity, and trusts only a process in the role
// `peer`; null: plaintext.
Channel NewChannel(const std::string& address, Role peer, const Tls* tls);

// Returns a channel to a port that is always plaintext: the health port.
Channel NewPlainChannel(const std::string& address);

}  // namespace capstan

#endif  // CAPSTAN_RPC_CHANNEL_H_
