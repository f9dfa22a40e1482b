// The interface of a shard to which MoveJob sends partitions.
#ifndef CAPSTAN_PS_TRANSFER_MOVE_PEER_H_
#define CAPSTAN_PS_TRANSFER_MOVE_PEER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"

namespace capstan::ps {

// Used by one thread at a time.
class MovePeer {
 public:
  virtual ~MovePeer() = default;

  // Sends one piece and waits a limited time for the answer. Returns CANCELLED soon after give_up()
  // has returned true.
  virtual absl::StatusOr<v1::TakePartitionReply> Take(const v1::TakePartitionRequest& request,
                                                      absl::FunctionRef<bool()> give_up) = 0;
};

// Returns a peer at `address` (host:port). *Thread-safe*.
using PeerOpener = std::function<std::unique_ptr<MovePeer>(const std::string& address)>;

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_MOVE_PEER_H_
