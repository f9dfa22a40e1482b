#include "capstan/client/ps_client.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/wire_version.h"
#include "capstan/client/pull_request.h"
#include "capstan/client/push_request.h"
#include "capstan/client/request.h"
#include "capstan/consistency/generation.h"
#include "capstan/consistency/stream_push.h"
#include "capstan/placement/view_epoch.h"
#include "capstan/rpc/limits.h"
#include "capstan/wire/floats.h"

namespace capstan {
namespace {

const std::string& kPushPiece = *new std::string("/capstan.v1.Ps/PushPiece");

// The error for a request to a shard that has left since the request was planned.
absl::Status NotInView(ShardIndex shard) {
  return absl::FailedPreconditionError(absl::StrCat("the view does not name shard ", Raw(shard)));
}

v1::PushRequest PushHead(const PushOptions& options, const RequestPlan& plan,
                         v1::RequestHeader header, v1::Dtype dtype) {
  v1::PushRequest head;
  *head.mutable_header() = std::move(header);
  head.set_dtype(dtype);
  head.set_examples(options.examples);
  head.set_progress_examples(options.progress.examples);
  head.set_progress_seal(options.progress.seal);
  if (options.stream) ToProto(*options.stream, *head.mutable_stream());
  if (const auto first = plan.first_with_rows()) head.set_counted_in(*first + 1);
  if (options.stage) {
    v1::LaneStage& stage = *head.mutable_stage();
    stage.set_lane(static_cast<uint32_t>(Raw(options.stage->lane)));
    stage.set_round(options.stage->round.round);
    ToProto(options.stage->generation, *stage.mutable_generation());
  }
  return head;
}

}  // namespace

PsClient::PsClient(EventLoop& loop, const ParameterMap& map, const PsClientOptions& options)
    : loop_(loop),
      map_(map),
      options_(options),
      channels_(options.channels ? options.channels : std::make_shared<ProcessChannels>(nullptr)),
      self_(std::make_shared<PsClient*>(this)) {}

PsClient::~PsClient() {
  while (!requests_.empty()) Cancel(RequestId{requests_.begin()->first});
}

bool PsClient::SetView(const v1::View& view) {
  if (EpochOf(view) <= EpochOf(view_)) return false;
  absl::flat_hash_map<uint32_t, Shard> shards;
  for (const v1::ShardInfo& info : view.shards()) {
    const auto known = shards_.find(info.index());
    const bool same = known != shards_.end() && known->second.incarnation == info.incarnation();
    shards[info.index()] = {info.incarnation(), channels_->To(info.address(), info.incarnation()),
                            same && known->second.asks};
  }
  const bool complete = view.owners().empty() ||
                        (static_cast<uint32_t>(view.owners_size()) == map_.partition_count() &&
                         std::all_of(view.owners().begin(), view.owners().end(),
                                     [&shards](uint32_t owner) { return shards.contains(owner); }));
  if (!complete) return false;
  view_ = view;
  shards_ = std::move(shards);
  return true;
}

void PsClient::LeadTo(ShardIndex shard, const std::string& address) {
  const auto found = shards_.find(static_cast<uint32_t>(Raw(shard)));
  if (found == shards_.end()) return;
  found->second.channel = channels_->To(address, found->second.incarnation);
}

v1::RequestHeader PsClient::Header(ShardIndex shard, uint64_t clock) const {
  v1::RequestHeader header;
  header.set_wire_version(kWireVersion);
  *header.mutable_epoch() = view_.epoch();
  header.set_timeline(view_.timeline());
  header.set_trainer(Raw(options_.trainer));
  header.set_clock(clock);
  const auto found = shards_.find(static_cast<uint32_t>(Raw(shard)));
  if (found != shards_.end()) header.set_target_incarnation(found->second.incarnation);
  return header;
}

Channel PsClient::ChannelOf(ShardIndex shard) const {
  const auto found = shards_.find(static_cast<uint32_t>(Raw(shard)));
  return found == shards_.end() ? nullptr : found->second.channel;
}

bool PsClient::Asks(ShardIndex shard) const {
  const auto found = shards_.find(static_cast<uint32_t>(Raw(shard)));
  return found != shards_.end() && found->second.asks;
}

RequestId PsClient::Pull(ShardIndex shard, const RequestPlan& plan, const PullOptions& options,
                         const PullTarget& target, OnPulled on_done) {
  v1::PullRequest head;
  *head.mutable_header() = Header(shard, options.clock);
  head.set_dtype(options_.dtype);
  head.set_evaluation(options.evaluation);
  if (options.round) head.set_round(options.round->round);
  if (options.answered != nullptr) options.answered->SetRound(head.round());
  return Start(std::make_unique<PullRequest>(shard, plan, std::move(head), options, target,
                                             std::move(on_done)));
}

RequestId PsClient::Push(ShardIndex shard, const RequestPlan& plan, const PushOptions& options,
                         const PushSource& source, OnPushed on_done) {
  // True if the parameters from which the gradient was computed are sent with it.
  const bool pulled = source.pulled_dense != nullptr || !source.pulled_rows.empty();
  if (options.answered != nullptr) {
    options.answered->SetRound(options.stage ? options.stage->round.round : 0);
  }
  auto request = std::make_unique<PushRequest>(
      shard, plan, PushHead(options, plan, Header(shard, options.clock), options_.dtype), options,
      source, std::move(on_done));
  const size_t value_bytes = wire::FloatSize(options_.dtype) * (pulled ? 2 : 1);
  for (const RequestPlan::Chunk& chunk : request->chunks) {
    request->status.Update(plan.CheckSize(chunk, value_bytes, kMaxPushBytes));
  }
  return Start(std::move(request));
}

RequestId PsClient::Start(std::unique_ptr<Request> request) {
  const uint64_t id = ++last_id_;
  Request& started = *request;
  requests_.emplace(id, std::move(request));
  if (started.status.ok()) Continue(id, started);
  // Posted, so that the callback does not run before Start() has returned.
  if (started.under_way.empty()) {
    loop_.Post([self = std::weak_ptr<PsClient*>(self_), id] {
      if (auto client = self.lock()) (*client)->FinishIfOver(id);
    });
  }
  return RequestId{id};
}

void PsClient::Continue(uint64_t id, Request& request) {
  const auto limit = static_cast<size_t>(options_.chunks_in_flight);
  const Channel channel = ChannelOf(request.shard);
  if (channel == nullptr) {
    request.status.Update(NotInView(request.shard));
    request.lifecycle.Stop();
  }
  while (const std::optional<size_t> next = request.lifecycle.Next(limit)) {
    // Messages in pieces always carry the commit, so that they need not be sent twice.
    const bool commit = !Asks(request.shard) || request.Large(request.chunks[*next]);
    SendChunk(id, request, *next, channel, commit);
  }
}

void PsClient::SendChunk(uint64_t id, Request& request, size_t chunk, const Channel& channel,
                         bool commit) {
  if (!commit) request.without_commit.insert(chunk);
  const grpc::ByteBuffer message = request.Encode(request.chunks[chunk], commit);
  if (message.Length() <= size_t{kMaxMessageBytes}) {
    return Send(id, request, chunk, channel, request.method(), message);
  }
  PushInPieces& pieces =
      request.in_pieces.emplace(chunk, PushInPieces(++last_push_in_pieces_, message)).first->second;
  Send(id, request, chunk, channel, kPushPiece,
       pieces.Next(Header(request.shard, 0), OldestInPieces()));
}

bool PsClient::SendWithCommit(uint64_t id, Request& request, size_t chunk) {
  const Channel channel = ChannelOf(request.shard);
  const bool lacked = request.without_commit.erase(chunk) > 0;
  if (!lacked || !request.status.ok() || channel == nullptr) return false;
  request.in_pieces.erase(chunk);
  SendChunk(id, request, chunk, channel, /*commit=*/true);
  return true;
}

void PsClient::Send(uint64_t id, Request& request, size_t chunk, const Channel& channel,
                    const std::string& method, const grpc::ByteBuffer& message) {
  auto on_reply = [self = std::weak_ptr<PsClient*>(self_), id,
                   chunk](absl::StatusOr<grpc::ByteBuffer> reply) {
    if (auto client = self.lock()) (*client)->OnReply(id, chunk, std::move(reply));
  };
  request.under_way[chunk] =
      loop_.Call(channel, method, message, request.timeout, std::move(on_reply));
}

uint64_t PsClient::OldestInPieces() const {
  uint64_t oldest = last_push_in_pieces_;
  for (const auto& [id, request] : requests_) {
    for (const auto& [chunk, pieces] : request->in_pieces) {
      oldest = std::min(oldest, pieces.push());
    }
  }
  return oldest;
}

bool PsClient::SendNextPiece(uint64_t id, Request& request, size_t chunk) {
  const auto pieces = request.in_pieces.find(chunk);
  if (pieces == request.in_pieces.end()) return false;
  const Channel channel = ChannelOf(request.shard);
  if (channel == nullptr) request.status = NotInView(request.shard);
  if (!request.status.ok() || pieces->second.done()) {
    request.in_pieces.erase(pieces);
    return false;
  }
  Send(id, request, chunk, channel, kPushPiece,
       pieces->second.Next(Header(request.shard, 0), OldestInPieces()));
  return true;
}

void PsClient::OnReply(uint64_t id, size_t chunk, absl::StatusOr<grpc::ByteBuffer> reply) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;  // Cancelled.
  Request& request = *found->second;
  request.under_way.erase(chunk);
  if (reply.ok() && SendNextPiece(id, request, chunk)) return;
  if (absl::IsOutOfRange(reply.status()) && SendWithCommit(id, request, chunk)) return;
  const absl::Status result =
      reply.ok() ? request.Decode(request.chunks[chunk], *reply) : reply.status();
  NoteThatItAsks(request);
  if (!result.ok() && request.status.ok()) {
    request.status = result;
    request.lifecycle.Stop();
  }
  request.lifecycle.Answered(request.settled());
  Continue(id, request);
  FinishIfOver(id);
}

void PsClient::NoteThatItAsks(const Request& request) {
  if (!request.asks) return;
  const auto found = shards_.find(static_cast<uint32_t>(Raw(request.shard)));
  if (found == shards_.end() || found->second.incarnation != *request.asks) return;
  found->second.asks = true;
}

void PsClient::FinishIfOver(uint64_t id) {
  const auto found = requests_.find(id);
  if (found == requests_.end() || !found->second->under_way.empty()) return;
  const std::unique_ptr<Request> finished = std::move(found->second);
  requests_.erase(found);
  finished->NoteAnswers();
  finished->Finish();
}

void PsClient::Cancel(RequestId id) {
  const auto found = requests_.find(static_cast<uint64_t>(id));
  if (found == requests_.end()) return;
  for (const auto& [chunk, call] : found->second->under_way) loop_.Cancel(call);
  requests_.erase(found);
}

PullResult PsClient::PullAll(const RequestPlan& plan, const PullOptions& options,
                             const PullTarget& target) {
  PullResult all;
  size_t missing = plan.shards().size();
  for (ShardIndex shard : plan.shards()) {
    Pull(shard, plan, options, target, [&all, &missing](const PullResult& result) {
      if (all.status.ok()) all = result;
      --missing;
    });
  }
  while (missing > 0) loop_.Poll(absl::Seconds(1));
  return all;
}

PushResult PsClient::PushAll(const RequestPlan& plan, const PushOptions& options,
                             const PushSource& source) {
  PushResult all;
  size_t missing = plan.shards().size();
  for (ShardIndex shard : plan.shards()) {
    Push(shard, plan, options, source, [&all, &missing](const PushResult& result) {
      if (all.status.ok()) all.status = result.status;
      for (size_t outcome = 0; outcome < all.outcomes.size(); ++outcome)
        all.outcomes[outcome] += result.outcomes[outcome];
      all.retry_after = std::max(all.retry_after, result.retry_after);
      --missing;
    });
  }
  while (missing > 0) loop_.Poll(absl::Seconds(1));
  return all;
}

}  // namespace capstan
