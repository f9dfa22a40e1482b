// The calls of a shard, independent of the transport: checks the header of each request, and passes
// it to the part of the shard that handles it. PsService serves the calls by gRPC; a simulated
// process, through the network of the simulation.
#ifndef CAPSTAN_PS_DOOR_SHARD_DOOR_H_
#define CAPSTAN_PS_DOOR_SHARD_DOOR_H_

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/message/any_message.h"
#include "capstan/v1/ps.pb.h"
#include "ps/machines/waiter.h"
#include "ps/partition/pull_query.h"
#include "ps/partition/push_message.h"
#include "ps/shard/shard.h"
#include "ps/transfer/loader.h"
#include "ps/transfer/mover.h"
#include "ps/transfer/replicator.h"
#include "ps/transfer/saver.h"
#include "ps/transfer/staged_partitions.h"

namespace capstan::ps {

// The objects that handle the calls. All must outlive the calls under way.
struct ServedShard {
  Shard& shard;
  Saver& saver;
  Loader& loader;
  Mover& mover;
  StagedPartitions& staged;
  Replicator& replicator;
};

// Receives the answer to a call: exactly once, within the call or later, on any thread.
template <typename Reply>
using Answered = absl::AnyInvocable<void(absl::StatusOr<Reply>)>;

// A call that may wait is answered within its caller's `patience`. The methods for such calls
// return the id of the waiting call, and nullopt if it has been answered. *Thread-safe*.
class ShardDoor {
 public:
  // `served` must outlive this object and its calls. Null: the shard does not know its job yet, and
  // each call is answered UNAVAILABLE.
  explicit ShardDoor(const ServedShard* served) : served_(served) {}

  // Return the shard, if it may carry out a request with this header: one that reads or changes
  // parameters; an order of the chief; an order to load, whose timeline need not be the one that
  // the shard serves.
  absl::StatusOr<Shard*> ForData(const v1::RequestHeader& header) const;
  absl::StatusOr<const ServedShard*> ForOrder(const v1::RequestHeader& header) const;
  absl::StatusOr<const ServedShard*> ForLoad(const v1::RequestHeader& header) const;

  // ---- orders of the chief ----

  // Carries out an order: a request of an RPC that the chief may call. If it changes parameters, it
  // is answered once backups have carried it out, too. Returns an id only if the order waits at the
  // coordinator. UNIMPLEMENTED: there is no such order.
  std::optional<WaiterId> Order(const AnyMessage& order, absl::Duration patience,
                                Answered<AnyMessage> done) const;

  // ---- parameters ----

  // Read a request, and check it and its header.
  absl::StatusOr<std::unique_ptr<const PullQuery>> ReadPull(const grpc::ByteBuffer& request) const;
  absl::StatusOr<std::shared_ptr<const PushMessage>> ReadPush(
      const grpc::ByteBuffer& request) const;
  // REQUIRES: ReadPull has returned `query`.
  std::optional<WaiterId> Pull(std::unique_ptr<const PullQuery> query, absl::Duration patience,
                               Shard::OnPulled done) const;
  // REQUIRES: ReadPush has returned `push`.
  absl::StatusOr<Shard::Pushed> Push(const std::shared_ptr<const PushMessage>& push) const;

  // ---- rounds ----

  std::optional<WaiterId> OpenRound(const v1::OpenRoundRequest& request,
                                    Answered<v1::OpenRoundReply> done) const;
  std::optional<WaiterId> WatchCounts(const v1::WatchCountsRequest& request,
                                      absl::Duration patience,
                                      Answered<v1::WatchCountsReply> done) const;

  // Answered once backups have carried it out.
  void ReportLane(const v1::ReportLaneRequest& request, Answered<v1::ReportLaneReply> done) const;

  // ---- what other shards send ----

  absl::StatusOr<v1::TakePartitionReply> Take(const v1::TakePartitionRequest& request) const;
  absl::StatusOr<v1::ReplicateReply> Replicate(const ReplicateMessage& message) const;

 private:
  absl::StatusOr<const ServedShard*> Served() const;

  const ServedShard* const served_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_DOOR_SHARD_DOOR_H_
