// Another shard, to which this one sends partitions.
#ifndef CAPSTAN_PS_PROCESS_SHARD_PEER_H_
#define CAPSTAN_PS_PROCESS_SHARD_PEER_H_

#include <memory>
#include <string>

#include "ps/shard/move_peer.h"

namespace capstan::ps {

// A connection to the shard at this address (host:port) of the peer's own. Thread-safe.
std::unique_ptr<MovePeer> OpenShardPeer(const std::string& address);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_SHARD_PEER_H_
