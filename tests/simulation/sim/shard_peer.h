// Another shard of a simulated world, as a shard calls it from its threads (ps/process/shard_peer).
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_SHARD_PEER_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_SHARD_PEER_H_

#include <cstdint>
#include <string>

#include "ps/transfer/move_peer.h"
#include "tests/simulation/sim/cast.h"
#include "tests/simulation/sim/threads.h"

namespace capstan::sim {

// Where that shard serves, as it tells the chief.
std::string AddressOf(uint32_t shard);
uint32_t ShardAt(const std::string& address);

// Peers are called in work of these threads. Both must outlive the peers.
ps::PeerOpener PeerOpenerOf(Cast& cast, SimThreads& threads);

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_SHARD_PEER_H_
