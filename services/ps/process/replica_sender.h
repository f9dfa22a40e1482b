// Sends the operations of this shard's replica streams to the shards that back up its partitions.
#ifndef CAPSTAN_PS_PROCESS_REPLICA_SENDER_H_
#define CAPSTAN_PS_PROCESS_REPLICA_SENDER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "capstan/client/push_in_pieces.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/replica_stream.h"
#include "ps/shard/shard.h"
#include "ps/transfer/replica_turns.h"

namespace capstan::ps {

// Has a thread of its own. One request to each backup is under way at a time; operations that are
// appended meanwhile are sent with the next one.
class ReplicaSender {
 public:
  // Both must outlive this object. `tls`: the identity shown to backups; null: plaintext.
  ReplicaSender(Shard& shard, const Tls* tls);
  ~ReplicaSender();

 private:
  void Run();
  // Begins the calls that are due.
  void SendAll();
  void Send(const std::shared_ptr<ReplicaStream>& stream);
  // Sends the next piece of a request that is larger than a message, and then the following ones.
  void SendPiece(const std::shared_ptr<ReplicaStream>& stream, const Channel& channel,
                 const std::shared_ptr<PushInPieces>& pieces);
  // Takes in the reply to a request. `in_pieces`: the request was a piece of a larger one.
  void Hear(ReplicaStream& stream, const absl::StatusOr<v1::ReplicateReply>& reply, bool in_pieces);

  Shard& shard_;
  const Tls* const tls_;
  EventLoop loop_;
  ReplicaTurns turns_;
  std::map<uint64_t, Channel> channels_;  // By the number of their stream.
  uint64_t last_in_pieces_ = 0;           // The number of the last request that was sent in pieces.
  std::atomic<bool> awake_{false};        // A turn of the loop was requested.
  std::atomic<bool> stopping_{false};
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_REPLICA_SENDER_H_
