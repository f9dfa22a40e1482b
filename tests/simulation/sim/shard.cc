#include "tests/simulation/sim/shard.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/wire_version.h"
#include "capstan/base/worth_repeating.h"
#include "capstan/placement/view_epoch.h"
#include "capstan/security/shard_secret.h"
#include "ps/shard/chief_replies.h"
#include "tests/simulation/sim/chief.h"
#include "tests/simulation/sim/shard_peer.h"

namespace capstan::sim {
namespace {

// As ps/process/chief_link has them.
constexpr absl::Duration kAttempt = absl::Seconds(3);
constexpr absl::Duration kPause = absl::Milliseconds(500);
constexpr absl::Duration kDrainingBeat = absl::Milliseconds(200);
constexpr absl::Duration kChiefIsAway = absl::Seconds(4);
constexpr absl::Duration kGrace = absl::Seconds(10);

// Of partitions on their way, which are small here.
constexpr size_t kPieceBytes = 700;
constexpr size_t kUndecodedBytes = 2000;
constexpr size_t kUntakenBytes = 20000;  // By a backup.

}  // namespace

ShardProcess::ShardProcess(Cast& cast, const Life& life, uint32_t index)
    : cast_(cast),
      life_(life),
      index_(index),
      secret_(absl::StrCat("secret ", cast.NewIncarnation())),
      incarnation_(Raw(IncarnationOfSecret(secret_))),
      threads_(cast.network(), life),
      busy_threads_(threads_, cast.schedule()),
      metrics_(registry_) {
  Register();
}

ShardProcess::~ShardProcess() {
  ending_ = true;
  sender_.reset();
  if (shard_ != nullptr) shard_->streams().Close();
}

// ---- the chief ----

void ShardProcess::Register() {
  v1::RegisterShardRequest request;
  request.set_wire_version(kWireVersion);
  request.set_index(index_);
  request.set_address(AddressOf(index_));
  request.set_incarnation(incarnation_);
  request.set_secret(secret_);
  if (shard_ != nullptr) request.set_loaded_timeline(shard_->timeline());
  CallChief<v1::RegisterShardReply>(
      cast_, life_, kAttempt,
      [request](ChiefProcess& chief, const auto& answer) { answer(chief.RegisterShard(request)); },
      [this](const absl::StatusOr<v1::RegisterShardReply>& reply) {
        if (reply.ok()) return OnRegistered(*reply);
        if (!IsWorthRepeating(reply.status())) {
          return cast_.Exit(life_, reply.status().message().data());
        }
        if (shard_ == nullptr) cast_.network().After(life_, kPause, [this] { Register(); });
      });
}

void ShardProcess::OnRegistered(const v1::RegisterShardReply& reply) {
  if (shard_ != nullptr) {  // It had registered before.
    shard_->seals().SetSealer(Sealer(reply.seal_key()));
    return;
  }
  auto shard =
      ps::Shard::Create(reply.job(), {static_cast<ShardIndex>(index_), Incarnation{incarnation_}},
                        metrics_, cast_.schedule());
  CAPSTAN_CHECK(shard.ok());
  shard_ = *std::move(shard);
  shard_->seals().SetSealer(Sealer(reply.seal_key()));
  const ps::Outside outside{.open_store = cast_.store().OpenerFor(threads_),
                            .background = threads_};
  saver_.emplace(*shard_, outside);
  loader_.emplace(*shard_, outside);
  mover_.emplace(*shard_, ps::Mover::Backgrounds{busy_threads_, busy_threads_},
                 PeerOpenerOf(cast_, threads_), kPieceBytes);
  staged_.emplace(*shard_, busy_threads_);
  shard_->memory().of(MemoryUse::kMoves).SetLimit(kUndecodedBytes);
  replicator_.emplace(*shard_);
  served_.emplace(ps::ServedShard{*shard_, *saver_, *loader_, *mover_, *staged_, *replicator_});
  followers_.emplace(*shard_, *mover_, *staged_, *replicator_);
  shard_->streams().SetLimit(kUntakenBytes);
  if (const size_t bytes = cast_.job().options().waiting_bytes; bytes > 0) {
    shard_->waiting_gradients().SetLimit(bytes);
  }
  if (cast_.job().options().replicas > 0) sender_.emplace(cast_, life_, *shard_);
  WatchView();
  Heartbeat();
  Tick();
  const bool commits = !early() && cast_.lie() != Lie::kNoCommit;
  if (commits && shard_->catalog().HasSync()) {
    watches_.emplace_back(*shard_, ps::Watched::kCommits);
  }
  if (shard_->rounds().AddsCounted()) watches_.emplace_back(*shard_, ps::Watched::kCounts);
  for (ps::CoordinatorWatch& watch : watches_) WatchCoordinator(watch);
}

// As ps/process/coordinator_link does.
void ShardProcess::WatchCoordinator(ps::CoordinatorWatch& watch) {
  const auto later = [this, &watch] {
    cast_.network().After(life_, kPause, [this, &watch] { WatchCoordinator(watch); });
  };
  if (watch.address().empty()) return later();
  const v1::WatchCountsRequest request = watch.Request();
  const uint32_t index = watch.coordinator();
  cast_.network().Call<v1::WatchCountsReply>(
      life_, cast_.shard_host(index), kAttempt,
      // Served perhaps when this process is no more.
      [&cast = cast_, index, request](const Done<v1::WatchCountsReply>& done, absl::Time deadline) {
        ShardProcess* const shard = cast.shard(index);
        if (shard == nullptr) return done(absl::UnavailableError("nobody is there"));
        shard->WatchCounts(request, deadline, done);
      },
      [this, &watch, later, request](const absl::StatusOr<v1::WatchCountsReply>& reply) {
        if (!reply.ok()) return later();
        v1::WatchCountsReply told = *reply;
        if (told.has_closed()) Distort(*told.mutable_closed());
        const absl::Status heard = watch.Hear(request, told).status();
        // Its key, or the coordinator's, may be one of before.
        CAPSTAN_CHECK(heard.ok() || absl::IsUnavailable(heard));
        if (!heard.ok()) return later();
        WatchCoordinator(watch);
      });
}

void ShardProcess::WatchView() {
  Watch(
      cast_, life_, incarnation_,
      [this](const v1::View& view) {
        if (EpochOf(view) > EpochOf(view_)) OnView(view);
      },
      [this] { cast_.network().After(life_, kPause, [this] { WatchView(); }); });
}

void ShardProcess::OnView(const v1::View& view) {
  cast_.schedule().Tell("  shard ", index_, " hears of view ", view.epoch().term(), ".",
                        view.epoch().n());
  acting_ = true;
  const absl::Status taken = shard_->SetView(view);
  if (!taken.ok()) return cast_.Exit(life_, taken.message().data());
  const absl::Status followed = followers_->Follow();
  acting_ = false;
  if (!followed.ok()) return cast_.Exit(life_, followed.message().data());
  if (view_.epoch().term() != 0 && view_.epoch().term() != view.epoch().term()) Register();
  for (ps::CoordinatorWatch& watch : watches_) watch.SetView(view);
  view_ = view;
  if (view.owners_size() > 0) placed_ = view;
  CheckServed();
}

void ShardProcess::Heartbeat() {
  v1::ShardHeartbeatRequest request;
  request.set_incarnation(incarnation_);
  request.set_secret(secret_);
  request.set_index(index_);
  request.set_draining(draining_);
  request.set_loaded_timeline(shard_->timeline());
  const ps::ShardFacts facts = shard_->accounts().Facts();
  shard_->metrics().Set(facts);
  *request.mutable_report() = shard_->Report(facts);
  if (cast_.lie() == Lie::kSilentLoss) request.mutable_report()->clear_batches_lost();
  shard_->ExpireSessions(cast_.schedule().Now());
  CallChief<v1::ShardHeartbeatReply>(
      cast_, life_, kAttempt,
      [request](ChiefProcess& chief, const auto& answer) { answer(chief.ShardHeartbeat(request)); },
      [this, sent = cast_.schedule().Now()](const absl::StatusOr<v1::ShardHeartbeatReply>& reply) {
        const absl::Duration every = ps::HeartbeatOf(cast_.job().spec());
        cast_.network().After(life_, draining_ ? kDrainingBeat : every, [this] { Heartbeat(); });
        if (!reply.ok()) return;
        heard_ = cast_.schedule().Now();
        if (reply->lease_seconds() > 0) {
          shard_->view().SetLease(sent + absl::Seconds(reply->lease_seconds()));
        }
        may_leave_ = reply->may_leave();
        const bool doubt = shard_->seals().TakeDoubt();
        if (!reply->known() || doubt) Register();
      });
}

void ShardProcess::Drain() {
  draining_ = true;
  heard_ = cast_.schedule().Now();
  drain_deadline_ = heard_ + kGrace;
  if (shard_ == nullptr) cast_.Exit(life_, "drained before it had begun");
}

void ShardProcess::Tick() {
  shard_->Tick();
  const absl::Time now = cast_.schedule().Now();
  if (draining_ &&
      (may_leave_ || !shard_->ready() || now - heard_ > kChiefIsAway || now > drain_deadline_)) {
    return cast_.Exit(life_, may_leave_ ? "drained" : "drained, unasked");
  }
  cast_.network().After(life_, ps::Shard::kTick, [this] { Tick(); });
}

}  // namespace capstan::sim
