// Sends what a shard has done to those that back it up, as ps/process/replica_sender does, through
// the simulated network.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_REPLICA_SENDER_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_REPLICA_SENDER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/replica_stream.h"
#include "ps/shard/shard.h"
#include "ps/transfer/replica_turns.h"
#include "tests/simulation/sim/cast.h"

namespace capstan::sim {

// Of one process.
class ReplicaSender {
 public:
  // All must outlive it.
  ReplicaSender(Cast& cast, const Life& life, ps::Shard& shard);
  ~ReplicaSender();

 private:
  absl::Duration Leisure() const;
  void SendSoon(absl::Duration wait);
  void SendAll();
  void Send(const std::shared_ptr<ps::ReplicaStream>& stream);
  void Hear(ps::ReplicaStream& stream, const absl::StatusOr<v1::ReplicateReply>& reply);

  Cast& cast_;
  const Life life_;
  ps::Shard& shard_;
  bool awake_ = false;  // A turn is asked for.
  ps::ReplicaTurns turns_;
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_REPLICA_SENDER_H_
