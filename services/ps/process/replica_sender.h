// Sends the operations of this shard's replica streams to the shards that back up its partitions.
#ifndef CAPSTAN_PS_PROCESS_REPLICA_SENDER_H_
#define CAPSTAN_PS_PROCESS_REPLICA_SENDER_H_

#include <atomic>
#include <map>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// Has a thread of its own. One request to each backup is under way at a time; operations that are
// appended meanwhile go with the next one.
class ReplicaSender {
 public:
  // `shard` must outlive this object.
  explicit ReplicaSender(Shard& shard);
  ~ReplicaSender();

 private:
  struct Peer {
    Peer(std::shared_ptr<ReplicaStream> of, Channel to)
        : stream(std::move(of)), channel(std::move(to)) {}

    std::shared_ptr<ReplicaStream> stream;
    Channel channel;
    bool calling = false;
    absl::Duration pause = absl::ZeroDuration();  // After a call that failed or brought nothing on.
    absl::Time next = absl::InfinitePast();
  };

  void Run();
  // Begins the calls that are due.
  void SendAll();
  void Send(const std::shared_ptr<Peer>& peer);
  void Hear(Peer& peer, const absl::StatusOr<v1::ReplicateReply>& reply);

  Shard& shard_;
  EventLoop loop_;
  std::map<uint64_t, std::shared_ptr<Peer>> peers_;  // By the number of their stream.
  std::atomic<bool> awake_{false};                   // A turn of the loop has been asked for.
  std::atomic<bool> stopping_{false};
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_REPLICA_SENDER_H_
