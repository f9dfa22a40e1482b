// The connections to other shards, to which this shard sends partitions.
#ifndef CAPSTAN_PS_PROCESS_SHARD_PEER_H_
#define CAPSTAN_PS_PROCESS_SHARD_PEER_H_

#include "capstan/security/tls.h"
#include "ps/transfer/move_peer.h"

namespace capstan::ps {

// Returns a function that opens peers. Each has its own connection to the shard at an address
// (host:port), to which it shows the identity `tls`; null: plaintext. `tls` must outlive them. The
// function is thread-safe.
PeerOpener ShardPeerOpener(const Tls* tls);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_SHARD_PEER_H_
