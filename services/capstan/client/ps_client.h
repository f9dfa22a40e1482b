// Pulls from and pushes to the shards. A request to one shard is cut into chunks of about 1 MiB, of
// which a few are under way at a time; it is done when all of them are.
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

// Versions of both parts of each partition, as pulled; indexed by partition, then Part.
using PartitionVersions = std::vector<std::array<uint64_t, kParts>>;

// What a round's request carries.
struct RoundName {
  uint64_t round = 0;
  const RoundCommit* closed = nullptr;  // What round - 1 consisted of.
};

struct PullOptions {
  uint64_t clock = 0;  // header.clock.
  bool evaluation = false;
  bool frozen = true;              // False: what `target` has of frozen tensors is not written.
  std::optional<RoundName> round;  // sync.
  absl::Duration timeout = absl::Seconds(10);
  // What earlier tries of this pull have brought is left out, and what this one brings is noted, if
  // it fails. Null: everything is asked for.
  AnsweredPartitions* answered = nullptr;
};

// Where values go. Only what the shard holds is written.
struct PullTarget {
  absl::Span<float* const> rows;  // By table: the matrix [keys x dim]. May be empty without rows.
  float* dense = nullptr;         // The flat vector of all tensors; needed if the plan is dense.
  // Where in the flat vector `dense` begins: of a plan of one tensor, the tensor's place in it.
  uint64_t dense_offset = 0;
  PartitionVersions* versions = nullptr;  // Has partition_count elements.
  // By table: what of each row was read, a number a key. Empty: it is not wanted. REQUIRES: the
  // job's rows have versions (CountsRowUpdates), and the pull is not an evaluator's.
  absl::Span<uint32_t* const> row_versions = {};
};

struct PullResult {
  absl::Status status;
  absl::Duration retry_after;  // RESOURCE_EXHAUSTED: the shard's hint; otherwise 0.
};

// The name of a lane's gradient.
struct StageName {
  LaneIndex lane{};
  Generation generation;
  RoundName round;
};

struct PushOptions {
  // Steps finished once all of this has been carried out, told with the last call; 0: none is told.
  uint64_t clock = 0;
  bool empty = false;                // Carries no gradient; names and clock count all the same.
  std::optional<StreamPush> stream;  // Parts that are not synchronous.
  std::optional<StageName> stage;    // Parts that are.
  uint32_t examples = 0;
  JobProgress progress;
  absl::Duration timeout = absl::Seconds(10);
  // As PullOptions.answered: of the tries to push this gradient. What has been settled in earlier
  // ones is left out of the request, but not of the result.
  AnsweredPartitions* answered = nullptr;
};

// Gradients, and what they were computed from, in the shapes of PullTarget.
struct PushSource {
  absl::Span<const float* const> rows;
  const float* dense = nullptr;
  uint64_t dense_offset = 0;  // This is also its place in pulled_dense.
  const PartitionVersions* versions = nullptr;
  // Weights as pulled; only with stale_gradients: compensate.
  absl::Span<const float* const> pulled_rows;
  const float* pulled_dense = nullptr;
  absl::Span<const uint32_t* const> row_versions = {};  // As PullTarget's; empty: not known.
};

// With status OK the outcomes decide: how many parts of partitions had each, in this try or (if
// settled) an earlier one.
struct PushResult {
  absl::Status status;
  std::array<uint32_t, v1::Outcome_ARRAYSIZE> outcomes{};
  absl::Duration retry_after;

  uint32_t count(v1::Outcome outcome) const { return outcomes[outcome]; }
};

struct PsClientOptions {
  TrainerId trainer{};       // 0: no trainer of the job.
  int chunks_in_flight = 4;  // So many chunks of one request are on their way at once.
  v1::Dtype dtype = v1::DTYPE_FLOAT32;
  // Those to the shards, which it may share with clients of the same loop. Null: its own, as what
  // this process is.
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
  // Cancels its requests; their callbacks are destroyed without being run.
  ~PsClient();

  // Requests from now on go by this view. False, and nothing is done: it is not newer than the
  // present one, or names a shard that it does not describe.
  bool SetView(const v1::View& view);
  const v1::View& view() const { return view_; }
  // The shard is dialled at this address from now on, whatever the present view says, until another
  // view comes. Nothing is done if the view does not name the shard.
  void LeadTo(ShardIndex shard, const std::string& address);
  // Partition -> shard index; empty before the first map.
  absl::Span<const uint32_t> owners() const { return view_.owners(); }

  // Fills `target` with the shard's part of the plan. `plan` (except its routing) and what `target`
  // and `options` point to must live until `on_done` has run or been destroyed; it runs once, in a
  // later Poll. The first failing chunk fails the whole; what others have brought is written, and
  // noted in `options.answered`.
  // FAILED_PRECONDITION: the view does not name the shard, or does no longer.
  RequestId Pull(ShardIndex shard, const RequestPlan& plan, const PullOptions& options,
                 const PullTarget& target, OnPulled on_done);

  // Pushes the shard's part of `source`, without frozen tensors. Chunks that succeeded have had
  // their effect when others fail: the repetition leaves them out, or the ledger settles it.
  // Lifetimes as above. INVALID_ARGUMENT, and nothing is sent: a partition's share is too large for
  // a push.
  RequestId Push(ShardIndex shard, const RequestPlan& plan, const PushOptions& options,
                 const PushSource& source, OnPushed on_done);

  // Nothing is written or read any more after this returns, and the callback does not run.
  void Cancel(RequestId id);

  // Any other method of a shard ("OpenRound"): fills in the header and calls. REQUIRES: the view
  // has the shard. `done` gets a StatusOr<Reply>, also where the caller has the loop cancel the
  // call, and after the client has gone: whoever needs that to be soon cancels it.
  template <typename Reply, typename Request, typename Done>
  CallId Call(ShardIndex shard, const std::string& method, Request request, absl::Duration timeout,
              Done done) {
    *request.mutable_header() = Header(shard, 0);
    return loop_.Call<Reply>(ChannelOf(shard), "/capstan.v1.Ps/" + method, request, timeout,
                             std::move(done));
  }

  // Header of a request to this shard by the present view.
  v1::RequestHeader Header(ShardIndex shard, uint64_t clock) const;

  // For tools and tests: all shards of the plan at once, polling the loop until all are done. The
  // first failure is the result.
  PullResult PullAll(const RequestPlan& plan, const PullOptions& options, const PullTarget& target);
  PushResult PushAll(const RequestPlan& plan, const PushOptions& options, const PushSource& source);

 private:
  class Request;
  class PullRequest;
  class PushRequest;
  struct Shard {
    uint64_t incarnation = 0;
    Channel channel;
  };

  Channel ChannelOf(ShardIndex shard) const;
  RequestId Start(std::unique_ptr<Request> request);
  void Continue(uint64_t id, Request& request);
  void Send(uint64_t id, Request& request, size_t chunk, const Channel& channel,
            const std::string& method, const grpc::ByteBuffer& message);
  // Returns the lowest number of a push that is being sent in pieces, or of the last one.
  uint64_t OldestInPieces() const;
  // Returns false if the chunk does not go in pieces, or none of them is left.
  bool SendNextPiece(uint64_t id, Request& request, size_t chunk);
  void FinishIfOver(uint64_t id);
  void OnReply(uint64_t id, size_t chunk, absl::StatusOr<grpc::ByteBuffer> reply);

  EventLoop& loop_;
  const ParameterMap& map_;
  const PsClientOptions options_;
  v1::View view_;
  const std::shared_ptr<ProcessChannels> channels_;
  absl::flat_hash_map<uint32_t, Shard> shards_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Request>> requests_;
  uint64_t last_id_ = 0;
  uint64_t last_push_in_pieces_ = 0;
  // Replies may come after the client has gone; shared with nobody, only watched.
  const std::shared_ptr<PsClient*> self_;
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_PS_CLIENT_H_
