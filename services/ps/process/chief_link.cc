#include "ps/process/chief_link.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "capstan/base/clock.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/base/open_files.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "capstan/base/worth_repeating.h"
#include "capstan/metrics/process_metrics.h"
#include "capstan/process/await_chief.h"
#include "capstan/rpc/view_watch.h"
#include "ps/shard/chief_replies.h"

namespace capstan::ps {
namespace {

constexpr absl::Duration kAttempt = absl::Seconds(3);
constexpr absl::Duration kWatchPause = absl::Milliseconds(500);
constexpr absl::Duration kDrainingBeat = absl::Milliseconds(200);
constexpr absl::Duration kChiefIsAway = absl::Seconds(4);

// A steady time: the time of day may jump.
absl::Time Now() { return SteadyClock().Now(); }

constexpr char kRegister[] = "/capstan.v1.Chief/RegisterShard";
constexpr char kHeartbeat[] = "/capstan.v1.Chief/ShardHeartbeat";

v1::RegisterShardRequest RegistrationOf(const ChiefLinkOptions& options, uint64_t loaded_timeline) {
  v1::RegisterShardRequest request;
  request.set_wire_version(kWireVersion);
  request.set_index(static_cast<uint32_t>(Raw(options.identity.index)));
  request.set_address(options.address);
  request.set_incarnation(Raw(options.identity.incarnation));
  request.set_loaded_timeline(loaded_timeline);
  request.set_memory_bytes(options.memory_bytes);
  request.set_zone(options.zone);
  request.set_secret(options.secret);
  request.set_open_files(static_cast<uint64_t>(OpenFilesLimit()));
  return request;
}

v1::WatchViewRequest WatchOf(const ChiefLinkOptions& options) {
  v1::WatchViewRequest request;
  request.set_shard(static_cast<uint32_t>(Raw(options.identity.index)));
  request.set_shard_incarnation(Raw(options.identity.incarnation));
  request.set_secret(options.secret);
  return request;
}

}  // namespace

ChiefLink::ChiefLink(EventLoop& loop, const ChiefLinkOptions& options)
    : loop_(loop),
      options_(options),
      channel_(NewChannel(options.chief, Role::kChief, options.tls)) {}

absl::StatusOr<v1::RegisterShardReply> ChiefLink::Register(const Shutdown& shutdown) {
  absl::StatusOr<v1::RegisterShardReply> answer;
  const auto try_once = [&] {
    std::optional<absl::StatusOr<v1::RegisterShardReply>> reply;
    loop_.Call<v1::RegisterShardReply>(
        channel_, kRegister, RegistrationOf(options_, /*loaded_timeline=*/0), kAttempt,
        [&reply](absl::StatusOr<v1::RegisterShardReply> r) { reply = std::move(r); });
    while (!reply) loop_.Poll(kAttempt);
    answer = *std::move(reply);
    return answer.status();
  };
  CAPSTAN_RETURN_IF_ERROR(
      AwaitChief({.address = options_.chief, .give_up_after = options_.give_up_after},
                 SteadyClock(), shutdown, try_once));
  SetHeartbeat(answer->job());
  return answer;
}

void ChiefLink::Follow(Shard& shard, Learn learn, See see) {
  shard_ = &shard;
  learn_ = std::move(learn);
  see_ = std::move(see);
}

absl::Status ChiefLink::Poll(absl::Duration at_most) {
  const absl::Time now = Now();
  if (!watching_ && now >= next_watch_) Watch();
  if (!beating_ && now >= next_heartbeat_) Heartbeat();
  loop_.Poll(at_most);
  return failure_;
}

void ChiefLink::Watch() {
  watching_ = true;
  WatchView(
      loop_, channel_, WatchOf(options_),
      [this](v1::View view) {
        const uint64_t before = std::exchange(term_, view.epoch().term());
        if (before != 0 && before != term_) RegisterAgain();
        const absl::Status taken = shard_->SetView(view);
        job_over_ = view.state() == v1::JOB_STATE_COMPLETED || view.state() == v1::JOB_STATE_FAILED;
        if (!taken.ok() && failure_.ok()) failure_ = taken;
        const absl::Status seen = see_(view);
        if (!seen.ok() && failure_.ok()) failure_ = seen;
      },
      [this](const absl::Status&) {
        watching_ = false;
        next_watch_ = Now() + kWatchPause;
      });
}

void ChiefLink::Heartbeat() {
  v1::ShardHeartbeatRequest request;
  request.set_incarnation(Raw(options_.identity.incarnation));
  request.set_index(static_cast<uint32_t>(Raw(options_.identity.index)));
  request.set_draining(draining_);
  request.set_loaded_timeline(shard_->timeline());
  request.set_secret(options_.secret);
  shard_->ExpireSessions(shard_->clock().Now());
  const ShardFacts facts = shard_->accounts().Facts();
  shard_->metrics().Set(facts);
  *request.mutable_report() = shard_->Report(facts);
  shard_->accounts().LimitWaiting(request.report());
  request.mutable_report()->set_cpu_seconds(metrics::ProcessCpuSeconds());
  request.mutable_report()->set_cpu_cores(metrics::ProcessCpuCores());
  CAPSTAN_FAILPOINT("shard.heartbeat");
  beating_ = true;
  next_heartbeat_ = Now() + heartbeat_;
  loop_.Call<v1::ShardHeartbeatReply>(
      channel_, kHeartbeat, request, kAttempt,
      [this, sent = shard_->clock().Now()](const absl::StatusOr<v1::ShardHeartbeatReply>& reply) {
        beating_ = false;
        if (!reply.ok()) return;  // The next heartbeat will try again.
        heard_ = shard_->clock().Now();
        TakeLease(*reply, sent, *shard_);
        may_leave_ = reply->may_leave();
        const bool doubt = shard_->seals().TakeDoubt();
        if (!reply->known() || !registered_ || doubt) RegisterAgain();
      });
}

// The chief has restarted, has given this shard up, or may have a key that is not known here.
void ChiefLink::RegisterAgain() {
  registered_ = false;
  if (registering_) return;
  registering_ = true;
  log::Info(
      "registering again: another chief, one that does not know this shard, or seals that are "
      "wrong",
      {{"chief", options_.chief}});
  loop_.Call<v1::RegisterShardReply>(
      channel_, kRegister, RegistrationOf(options_, shard_->timeline()), kAttempt,
      [this, term = term_](const absl::StatusOr<v1::RegisterShardReply>& reply) {
        registering_ = false;
        if (IsWorthRepeating(reply.status())) return;  // The next heartbeat will try again.
        registered_ = term == term_;
        if (reply.ok()) SetHeartbeat(reply->job());
        const absl::Status learned = reply.ok() ? learn_(*reply) : reply.status();
        if (!learned.ok() && failure_.ok()) failure_ = learned;
      });
}

void ChiefLink::SetHeartbeat(const v1::JobSpec& job) {
  heartbeat_ = HeartbeatOf(job);
  if (draining_) heartbeat_ = std::min(heartbeat_, kDrainingBeat);
}

void ChiefLink::Drain() {
  draining_ = true;
  heartbeat_ = std::min(heartbeat_, kDrainingBeat);
  next_heartbeat_ = absl::InfinitePast();
  heard_ = shard_->clock().Now();
}

bool ChiefLink::MayLeave() const {
  // A shard without partitions loses nothing, and without a chief there will be no checkpoint.
  return may_leave_ || job_over_ || !shard_->ready() ||
         shard_->clock().Now() - heard_ > kChiefIsAway;
}

}  // namespace capstan::ps
