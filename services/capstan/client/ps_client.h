// Pulls from and pushes to the shards. A request to one shard is split into chunks of about 1 MiB,
// a few of which are under way at a time; the request is done when all its chunks are.
//
//   PsClient client(loop, map, {.trainer = trainer});
//   client.SetView(view);
//   plan.Build({{0, keys}}, /*dense=*/true);
//   plan.Route(client.owners());
//   for (ShardIndex shard : plan.shards()) client.Pull(shard, plan, options, target, on_done);
#ifndef CAPSTAN_CLIENT_PS_CLIENT_H_
#define CAPSTAN_CLIENT_PS_CLIENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/client/answered_partitions.h"
#include "capstan/client/request_plan.h"
#include "capstan/consistency/job_progress.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/consistency/stream_ledger.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/rpc/process_channels.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"

namespace capstan {

// The pulled versions of both parts of each partition; indexed by partition, then Part.
using PartitionVersions = std::vector<std::array<uint64_t, kParts>>;

// The round to which a request belongs.
struct RoundName {
  uint64_t round = 0;
  // The commit of round - 1. Sent to shards that ask for it, or that may not be able to ask.
  const RoundCommit* closed = nullptr;
};

struct PullOptions {
  uint64_t clock = 0;  // header.clock.
  bool evaluation = false;
  // False: frozen tensors are not pulled, and their part of `target` is not written.
  bool frozen = true;
  std::optional<RoundName> round;  // Only in synchronous jobs.
  absl::Duration timeout = absl::Seconds(10);
  // Partitions that earlier attempts of this pull have brought are omitted; if this attempt fails,
  // those that it has brought are added. Null: all partitions are pulled.
  AnsweredPartitions* answered = nullptr;
};

// Where pulled values are written. A pull from one shard writes only that shard's values.
struct PullTarget {
  absl::Span<float* const> rows;  // By table: the matrix [keys x dim]. May be empty without rows.
  float* dense = nullptr;         // The flat vector of all tensors; needed if the plan is dense.
  // The index in the flat vector at which `dense` begins; for a plan of one tensor, that tensor's.
  uint64_t dense_offset = 0;
  PartitionVersions* versions = nullptr;  // Has partition_count elements.
  // By table: where to write the version of each row that was read, one number per key. Empty: not
  // wanted. REQUIRES: the job's rows have versions (CountsRowUpdates), and the pull is not an
  // evaluation.
  absl::Span<uint32_t* const> row_versions = {};
};

struct PullResult {
  absl::Status status;
  absl::Duration retry_after;  // For RESOURCE_EXHAUSTED: the shard's hint; otherwise 0.
};

// Identifies a lane's gradient.
struct StageName {
  LaneIndex lane{};
  Generation generation;
  RoundName round;
};

struct PushOptions {
  // How many steps are finished once this push has been carried out; its last call carries the
  // number. 0: the push carries no clock.
  uint64_t clock = 0;
  bool empty = false;                // Carries no gradient, but its names and clock still count.
  std::optional<StreamPush> stream;  // Identifies the push for parts that are not synchronous.
  std::optional<StageName> stage;    // Identifies it for synchronous parts.
  uint32_t examples = 0;
  JobProgress progress;
  absl::Duration timeout = absl::Seconds(10);
  // Like PullOptions.answered, for the attempts to push this gradient. Partitions that earlier
  // attempts have settled are omitted from the request, but their outcomes are in the result.
  AnsweredPartitions* answered = nullptr;
};

// Gradients, and the parameters from which they were computed, in the shapes of PullTarget.
struct PushSource {
  absl::Span<const float* const> rows;
  const float* dense = nullptr;
  uint64_t dense_offset = 0;  // Also the index at which `pulled_dense` begins.
  const PartitionVersions* versions = nullptr;
  // The pulled weights; only with stale_gradients: compensate.
  absl::Span<const float* const> pulled_rows;
  const float* pulled_dense = nullptr;
  absl::Span<const uint32_t* const> row_versions = {};  // As in PullTarget; empty: not known.
};

// With status OK, `outcomes` has the number of parts of partitions with each outcome, in this
// attempt or (if settled) in an earlier one.
struct PushResult {
  absl::Status status;
  std::array<uint32_t, v1::Outcome_ARRAYSIZE> outcomes{};
  absl::Duration retry_after;

  uint32_t count(v1::Outcome outcome) const { return outcomes[outcome]; }
};

struct PsClientOptions {
  TrainerId trainer{};       // 0: the client is not a trainer of the job.
  int chunks_in_flight = 4;  // At most this many chunks of one request are under way at a time.
  v1::Dtype dtype = v1::DTYPE_FLOAT32;
  // The channels to the shards, which clients of the same loop may share. Null: the client creates
  // its own, in plaintext.
  std::shared_ptr<ProcessChannels> channels = nullptr;
};

enum class RequestId : uint64_t {};

// *Confined to the thread of its event loop.*
class PsClient {
 public:
  using OnPulled = absl::AnyInvocable<void(const PullResult&)>;
  using OnPushed = absl::AnyInvocable<void(const PushResult&)>;

  // `loop` and `map` must outlive the client.
  PsClient(EventLoop& loop, const ParameterMap& map, const PsClientOptions& options);
  // Cancels all requests; their callbacks are destroyed without being run.
  ~PsClient();

  // Requests from now on use `view`. Returns false and changes nothing if `view` is not newer than
  // the present one, or names an owner that it does not describe.
  bool SetView(const v1::View& view);
  const v1::View& view() const { return view_; }
  // Dials the shard at `address` from now on until the next view, whatever the present view says.
  // Does nothing if the view does not name the shard.
  void LeadTo(ShardIndex shard, const std::string& address);
  // Partition -> shard index; empty before the first map.
  absl::Span<const uint32_t> owners() const { return view_.owners(); }

  // Fills `target` with the shard's part of the plan. `on_done` runs once, in a later Poll. `plan`
  // (except its routing) and what `target` and `options` point to must live until `on_done` has run
  // or been destroyed. If a chunk fails, the pull fails; what other chunks have brought is written
  // nevertheless, and added to `options.answered`. FAILED_PRECONDITION: the view does not name the
  // shard (any more).
  RequestId Pull(ShardIndex shard, const RequestPlan& plan, const PullOptions& options,
                 const PullTarget& target, OnPulled on_done);

  // Pushes the shard's part of `source`, without frozen tensors. If a chunk fails, others may have
  // been applied: a retry omits them, or the shard's ledger settles them. Lifetimes as for Pull().
  // INVALID_ARGUMENT, and nothing is sent: a partition's share is too large for a push.
  RequestId Push(ShardIndex shard, const RequestPlan& plan, const PushOptions& options,
                 const PushSource& source, OnPushed on_done);

  // Cancels the request: after this nothing is written or read any more, and its callback does not
  // run.
  void Cancel(RequestId id);

  // Calls any other method of a shard, such as "OpenRound", and fills in the header. REQUIRES: the
  // view has the shard. `done` is called with a StatusOr<Reply>, even if the caller cancels the
  // call through the loop, and even after the client is destroyed; a caller that cannot allow that
  // must cancel the call.
  template <typename Reply, typename Request, typename Done>
  CallId Call(ShardIndex shard, const std::string& method, Request request, absl::Duration timeout,
              Done done) {
    *request.mutable_header() = Header(shard, 0);
    return loop_.Call<Reply>(ChannelOf(shard), "/capstan.v1.Ps/" + method, request, timeout,
                             std::move(done));
  }

  // Returns the header of a request to the shard, according to the present view.
  v1::RequestHeader Header(ShardIndex shard, uint64_t clock) const;

  // For tools and tests: pulls from (or pushes to) all shards of the plan at once, and polls the
  // loop until all are done. Returns the first failure, if there is one.
  PullResult PullAll(const RequestPlan& plan, const PullOptions& options, const PullTarget& target);
  PushResult PushAll(const RequestPlan& plan, const PushOptions& options, const PushSource& source);

 private:
  class Request;
  class PullRequest;
  class PushRequest;
  struct Shard {
    uint64_t incarnation = 0;
    Channel channel;
    bool asks = false;  // The process has said that it asks for commits that it lacks.
  };

  Channel ChannelOf(ShardIndex shard) const;
  bool Asks(ShardIndex shard) const;
  RequestId Start(std::unique_ptr<Request> request);
  void Continue(uint64_t id, Request& request);
  // `commit`: the chunk carries the commit of the previous round, if the request is for a round.
  void SendChunk(uint64_t id, Request& request, size_t chunk, const Channel& channel, bool commit);
  // The shard has asked for the commit. Sends the chunk again with it. Returns false if the chunk
  // had it already, or the request has failed.
  bool SendWithCommit(uint64_t id, Request& request, size_t chunk);
  void Send(uint64_t id, Request& request, size_t chunk, const Channel& channel,
            const std::string& method, const grpc::ByteBuffer& message);
  // Returns the lowest number of a push that is being sent in pieces; if there is none, the last
  // number that was used.
  uint64_t OldestInPieces() const;
  // Returns false if the chunk is not sent in pieces, or no piece remains to be sent.
  bool SendNextPiece(uint64_t id, Request& request, size_t chunk);
  void FinishIfOver(uint64_t id);
  void OnReply(uint64_t id, size_t chunk, absl::StatusOr<grpc::ByteBuffer> reply);
  void NoteThatItAsks(const Request& request);

  EventLoop& loop_;
  const ParameterMap& map_;
  const PsClientOptions options_;
  v1::View view_;
  const std::shared_ptr<ProcessChannels> channels_;
  absl::flat_hash_map<uint32_t, Shard> shards_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Request>> requests_;
  uint64_t last_id_ = 0;
  uint64_t last_push_in_pieces_ = 0;
  // Callbacks of replies, which may come after the client is destroyed, hold weak pointers to this.
  const std::shared_ptr<PsClient*> self_;
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_PS_CLIENT_H_
