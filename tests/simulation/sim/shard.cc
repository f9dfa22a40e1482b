#include "tests/simulation/sim/shard.h"

#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "ps/load_job.h"
#include "tests/simulation/sim/checks.h"
#include "tests/simulation/sim/chief.h"
#include "tests/simulation/sim/messages.h"

namespace capstan::sim {
namespace {

// As ps/chief_link and ps/ps_service have them.
constexpr absl::Duration kAttempt = absl::Seconds(3);
constexpr absl::Duration kPause = absl::Milliseconds(500);
constexpr absl::Duration kAnswerMargin = absl::Milliseconds(20);

auto OrderOf(const v1::ViewEpoch& epoch) { return std::make_tuple(epoch.term(), epoch.n()); }

}  // namespace

ShardProcess::ShardProcess(Cast& cast, const Life& life, uint32_t index)
    : cast_(cast),
      life_(life),
      index_(index),
      incarnation_(cast.NewIncarnation()),
      metrics_(registry_) {
  Register();
}

// ---- the chief ----

void ShardProcess::Register() {
  v1::RegisterShardRequest request;
  request.set_wire_version(kWireVersion);
  request.set_index(index_);
  request.set_address(absl::StrCat("ps-", index_));
  request.set_incarnation(incarnation_);
  if (shard_ != nullptr) request.set_loaded_timeline(shard_->timeline());
  cast_.network().Call<v1::RegisterShardReply>(
      life_, cast_.chief_host(), kAttempt,
      [&cast = cast_, request](Done<v1::RegisterShardReply> answer, absl::Time) {
        if (ChiefProcess* chief = cast.chief()) answer(chief->RegisterShard(request));
      },
      [this](const absl::StatusOr<v1::RegisterShardReply>& reply) {
        if (reply.ok()) return OnRegistered(*reply);
        const bool again = absl::IsUnavailable(reply.status()) ||
                           absl::IsDeadlineExceeded(reply.status()) ||
                           absl::IsResourceExhausted(reply.status());
        if (!again) return cast_.Exit(life_, reply.status().message().data());
        if (shard_ == nullptr) cast_.network().After(life_, kPause, [this] { Register(); });
      });
}

void ShardProcess::OnRegistered(const v1::RegisterShardReply& reply) {
  if (shard_ != nullptr) return;  // It had registered before.
  auto shard =
      ps::Shard::Create(reply.job(), {static_cast<ShardIndex>(index_), Incarnation{incarnation_}},
                        metrics_, cast_.schedule());
  CAPSTAN_CHECK(shard.ok());
  shard_ = *std::move(shard);
  WatchView();
  Heartbeat();
  Tick();
}

void ShardProcess::WatchView() {
  Watch(
      cast_, life_,
      [this](const v1::View& view) {
        if (OrderOf(view.epoch()) <= OrderOf(view_.epoch())) return;
        acting_ = true;
        const absl::Status taken = shard_->SetView(view);
        acting_ = false;
        if (!taken.ok()) return cast_.Exit(life_, taken.message().data());
        view_ = view;
        CheckServed();
      },
      [this] { cast_.network().After(life_, kPause, [this] { WatchView(); }); });
}

void ShardProcess::Heartbeat() {
  v1::ShardHeartbeatRequest request;
  request.set_incarnation(incarnation_);
  request.set_index(index_);
  request.set_loaded_timeline(shard_->timeline());
  *request.mutable_report() = shard_->Report();
  shard_->ExpireSessions(cast_.schedule().Now());
  cast_.network().Call<v1::ShardHeartbeatReply>(
      life_, cast_.chief_host(), kAttempt,
      [&cast = cast_, request](Done<v1::ShardHeartbeatReply> answer, absl::Time) {
        if (ChiefProcess* chief = cast.chief()) answer(chief->ShardHeartbeat(request));
      },
      [this](const absl::StatusOr<v1::ShardHeartbeatReply>& reply) {
        const double every = cast_.job().spec().lease().heartbeat_seconds();
        cast_.network().After(life_, absl::Seconds(every), [this] { Heartbeat(); });
        if (!reply.ok()) return;
        shard_->SetProgress(reply->examples());
        if (!reply->known()) Register();
      });
}

void ShardProcess::Tick() {
  shard_->Tick();
  cast_.network().After(life_, ps::Shard::kTick, [this] { Tick(); });
}

// ---- the door ----

absl::StatusOr<ps::Shard*> ShardProcess::ShardFor(const v1::RequestHeader& header) const {
  if (shard_ == nullptr) return absl::UnavailableError("the shard waits for the chief");
  CAPSTAN_RETURN_IF_ERROR(shard_->CheckHeader(header));
  return shard_.get();
}

void ShardProcess::Distort(v1::ClosedSet& closed) const {
  if (cast_.lie() != Lie::kTornSet || index_ != 1 || closed.lanes_size() < 2) return;
  closed.mutable_lanes()->RemoveLast();
}

void ShardProcess::Pull(v1::PullRequest request, absl::Time deadline,
                        const Done<v1::PullReply>& done) {
  if (shard_ == nullptr) return done(absl::UnavailableError("the shard waits for the chief"));
  const v1::PullRequest asked = request;
  if (request.has_closed()) Distort(*request.mutable_closed());
  if (cast_.lie() == Lie::kNoWait) request.mutable_header()->set_member(0);
  if (cast_.lie() == Lie::kWrongRound) request.set_round(0);
  auto query = ps::PullQuery::Read(ToBuffer(request), shard_->catalog());
  const absl::Status checked =
      query.ok() ? shard_->CheckHeader((*query)->head().header()) : query.status();
  if (!checked.ok()) return done(checked);
  shard_->Pull(*std::move(query), deadline - kAnswerMargin,
               [this, done, asked](const absl::StatusOr<grpc::ByteBuffer>& buffer) {
                 cast_.schedule().Tell("  shard ", index_, ": pull of ", asked.header().member(),
                                       " step ", asked.header().clock(), " round ", asked.round(),
                                       ": ", buffer.status().ToString());
                 if (!buffer.ok()) return done(buffer.status());
                 served_.push_back(asked);
                 if (!acting_) CheckServed();
                 v1::PullReply reply;
                 CAPSTAN_CHECK(reply.ParseFromString(Bytes(*buffer)));
                 done(reply);
               });
}

absl::StatusOr<v1::PushReply> ShardProcess::Push(const v1::PushRequest& request) {
  if (shard_ == nullptr) return absl::UnavailableError("the shard waits for the chief");
  v1::PushRequest heard = request;
  if (heard.has_stage()) Distort(*heard.mutable_stage()->mutable_closed());
  CAPSTAN_ASSIGN_OR_RETURN(std::shared_ptr<const ps::PushMessage> push,
                           ps::PushMessage::Read(ToBuffer(heard), shard_->catalog()));
  CAPSTAN_RETURN_IF_ERROR(shard_->CheckHeader(push->head().header()));
  acting_ = true;
  absl::StatusOr<v1::PushReply> reply = shard_->Push(push);
  acting_ = false;
  if (reply.ok()) cast_.checks().OnPushed({index_, incarnation_}, request, *reply);
  CheckServed();
  return reply;
}

void ShardProcess::CheckServed() {
  for (const v1::PullRequest& pull : std::exchange(served_, {})) {
    cast_.checks().OnPullServed(index_, view_, pull);
  }
}

void ShardProcess::OpenRound(const v1::OpenRoundRequest& request,
                             const Done<v1::OpenRoundReply>& done) {
  const absl::StatusOr<ps::Shard*> shard = ShardFor(request.header());
  if (!shard.ok()) return done(shard.status());
  (*shard)->OpenRound(request, [done](const absl::StatusOr<ps::OpenAnswer>& answer) {
    if (!answer.ok()) return done(answer.status());
    v1::OpenRoundReply reply;
    reply.set_answer(answer->answer);
    reply.set_round(answer->round);
    ToProto(answer->closed, *reply.mutable_closed());
    reply.set_cursor(answer->cursor);
    done(reply);
  });
}

absl::StatusOr<v1::ReportLaneReply> ShardProcess::ReportLane(const v1::ReportLaneRequest& request) {
  CAPSTAN_ASSIGN_OR_RETURN(ps::Shard * shard, ShardFor(request.header()));
  return shard->ReportLane(request);
}

void ShardProcess::HoldRounds(const v1::HoldRoundsRequest& request, absl::Time deadline,
                              const Done<v1::HoldRoundsReply>& done) {
  const absl::StatusOr<ps::Shard*> shard = ShardFor(request.header());
  if (!shard.ok()) return done(shard.status());
  (*shard)->HoldRounds(request, deadline - kAnswerMargin, [done](const ps::HoldAnswer& answer) {
    if (!answer.status.ok()) return done(answer.status);
    v1::HoldRoundsReply reply;
    ToProto(answer.last, *reply.mutable_last());
    reply.set_ended(answer.ended);
    done(reply);
  });
}

absl::StatusOr<v1::CommitRoundReply> ShardProcess::CommitRound(
    const v1::CommitRoundRequest& request) {
  CAPSTAN_ASSIGN_OR_RETURN(ps::Shard * shard, ShardFor(request.header()));
  cast_.checks().OnClosedSet(*ClosedSetFromProto(request.closed()));
  if (cast_.lie() == Lie::kNoCommit) return v1::CommitRoundReply();
  v1::CommitRoundRequest heard = request;
  Distort(*heard.mutable_closed());
  CAPSTAN_RETURN_IF_ERROR(shard->CommitRound(heard));
  return v1::CommitRoundReply();
}

absl::StatusOr<v1::CloseStreamsReply> ShardProcess::CloseStreams(
    const v1::CloseStreamsRequest& request) {
  CAPSTAN_ASSIGN_OR_RETURN(ps::Shard * shard, ShardFor(request.header()));
  CAPSTAN_RETURN_IF_ERROR(shard->CloseStreams(request));
  return v1::CloseStreamsReply();
}

absl::StatusOr<v1::LoadPartitionsReply> ShardProcess::LoadPartitions(
    const v1::LoadPartitionsRequest& request) {
  if (shard_ == nullptr) return absl::UnavailableError("the shard waits for the chief");
  CAPSTAN_RETURN_IF_ERROR(shard_->CheckOrder(request.header()));
  const uint64_t timeline = request.header().timeline();
  if (shard_->timeline() != timeline) {
    CAPSTAN_RETURN_IF_ERROR(shard_->BeginLoad(timeline));
    CAPSTAN_RETURN_IF_ERROR(ps::LoadJob(*shard_, request).Run());
  }
  v1::LoadPartitionsReply reply;
  reply.set_done(true);
  return reply;
}

absl::StatusOr<v1::FlushReply> ShardProcess::Flush(const v1::FlushRequest& request) {
  CAPSTAN_ASSIGN_OR_RETURN(ps::Shard * shard, ShardFor(request.header()));
  v1::FlushReply reply;
  if (cast_.lie() != Lie::kNoFlush) reply.set_gradients(shard->Flush());
  return reply;
}

// ---- for the checks ----

Cells ShardProcess::Read() {
  Step all;
  if (!ready()) return {};
  for (const BatchName& batch : cast_.job().AllBatches()) {
    v1::PullRequest request;
    *request.mutable_header() = HeaderFor(view_, index_);
    request.mutable_header()->set_timeline(shard_->timeline());
    request.set_evaluation(true);
    AddPull(cast_.job(), batch, view_, index_, request);
    auto query = ps::PullQuery::Read(ToBuffer(request), shard_->catalog());
    CAPSTAN_CHECK(query.ok());
    if (!shard_->CheckHeader((*query)->head().header()).ok()) return {};
    shard_->Pull(*std::move(query), absl::InfiniteFuture(),
                 [&](const absl::StatusOr<grpc::ByteBuffer>& buffer) {
                   v1::PullReply reply;
                   if (!buffer.ok() || !reply.ParseFromString(Bytes(*buffer))) return;
                   TakeValues(cast_.job(), request, reply, all);
                 });
  }
  return all.pulled;
}

}  // namespace capstan::sim
