// Channels to a peer. All ends of Capstan make them here, so that keepalive, reconnection and
// message limits agree with the servers of capstan/rpc/server.h.
#ifndef CAPSTAN_RPC_CHANNEL_H_
#define CAPSTAN_RPC_CHANNEL_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "capstan/security/tls.h"

namespace capstan {

// A channel may be used by many threads. Shared because gRPC's calls keep it alive themselves.
using Channel = std::shared_ptr<grpc::Channel>;

// A channel to `address` (host:port, or unix:path). Connects in the background when first used and
// again, with capped back-off and jitter, after every loss; names are resolved anew at most once a
// second. A peer that has vanished without a word is noticed within 15 s, also when nothing is
// under way. Channels made here never share a connection. Never fails: calls on it do. Over `tls`
// only a process in the role `peer` is believed; null: plaintext.
Channel NewChannel(const std::string& address, Role peer, const Tls* tls = ProcessTls());

// To a port that is plaintext always: that of health.
Channel NewPlainChannel(const std::string& address);

}  // namespace capstan

#endif  // CAPSTAN_RPC_CHANNEL_H_
