// The connection to another shard, to which this shard sends partitions.
#ifndef CAPSTAN_PS_PROCESS_SHARD_PEER_H_
#define CAPSTAN_PS_PROCESS_SHARD_PEER_H_

#include <memory>
#include <string>

#include "ps/shard/move_peer.h"

namespace capstan::ps {

// Returns a peer with a connection of its own to the shard at `address` (host:port). Thread-safe.
std::unique_ptr<MovePeer> OpenShardPeer(const std::string& address);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_SHARD_PEER_H_
