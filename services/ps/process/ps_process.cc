#include "ps/process/ps_process.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/base/clock.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "capstan/base/version.h"
#include "capstan/metrics/cgroup.h"
#include "capstan/metrics/registry.h"
#include "capstan/process/heaps.h"
#include "capstan/process/identity.h"
#include "capstan/process/liveness.h"
#include "capstan/process/service.h"
#include "capstan/rpc/health.h"
#include "capstan/rpc/server.h"
#include "capstan/security/shard_secret.h"
#include "capstan/store/memory_limits.h"
#include "ps/door/ps_service.h"
#include "ps/process/chief_link.h"
#include "ps/process/coordinator_link.h"
#include "ps/process/replica_sender.h"
#include "ps/process/shard_peer.h"
#include "ps/shard/chief_replies.h"
#include "ps/transfer/replicator.h"
#include "ps/transfer/view_followers.h"

namespace capstan::ps {
namespace {

constexpr absl::Duration kDrain = absl::Seconds(3);

// Continues to serve until the chief lets the shard go (what it holds is in a checkpoint, or not
// needed), or the grace is over.
void Drain(ChiefLink& link, Shard& shard, Liveness& liveness, absl::Duration grace) {
  const absl::Time deadline = shard.clock().Now() + grace;
  link.Drain();
  while (!link.MayLeave() && shard.clock().Now() < deadline) {
    if (!link.Poll(Shard::kTick).ok()) return;  // The chief does not rely on this shard any more.
    shard.Tick();
    liveness.Turn();
  }
  if (!link.MayLeave()) log::Warn("the grace is over before the chief let this shard go");
}

// `restore`: after this time the start-up counts as finished although the shard does not serve.
// What it waits for (a checkpoint, another shard) is elsewhere, so a restart of this process would
// not help.
absl::Status Serve(ChiefLink& link, Shard& shard, HealthServer& health, Liveness& liveness,
                   absl::Duration restore, const Shutdown& shutdown) {
  const absl::Time patience = shard.clock().Now() + restore;
  bool ready = false;
  bool started = false;
  while (!shutdown.requested()) {
    CAPSTAN_RETURN_IF_ERROR(link.Poll(Shard::kTick));
    shard.Tick();
    liveness.Turn();
    if (!started && (shard.ready() || shard.clock().Now() >= patience)) {
      started = true;
      health.Set(Probe::kStartup, true);
      if (!shard.ready()) log::Warn("nothing is restored yet", {{"waited", restore}});
    }
    if (ready != shard.ready()) {
      ready = shard.ready();
      health.Set(Probe::kReadiness, ready);
      log::Info(ready ? "serving" : "not serving");
    }
  }
  health.Set(Probe::kReadiness, false);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> OrdinalOf(const std::string& hostname) {
  const size_t dash = hostname.rfind('-');
  int ordinal = 0;
  if (dash != std::string::npos &&
      absl::SimpleAtoi(absl::string_view(hostname).substr(dash + 1), &ordinal) && ordinal >= 0) {
    return ordinal;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--index: not given, and the hostname ", hostname, " ends in no ordinal"));
}

namespace {

// Returns the memory that the shard may use.
uint64_t MemoryOf(const ProcessOptions& options) {
  return options.memory_bytes > 0 ? options.memory_bytes : metrics::UsableMemoryBytes();
}

// What the process has before the chief knows its shard.
struct Process {
  ShardMetrics& metrics;
  PsService& service;
  Server& server;
  HealthServer& health;
  const Tls* tls;  // Null: plaintext.
  const Shutdown& shutdown;
};

absl::Status Follow(const ProcessOptions& options, ShardIndex index, const Process& process) {
  const auto& [metrics, service, server, health, tls, shutdown] = process;
  const uint64_t memory = MemoryOf(options);
  const std::string secret = NewShardSecret();
  const ShardIdentity identity = {index, IncarnationOfSecret(secret)};
  EventLoop loop;
  ChiefLink link(loop, {.chief = options.chief,
                        .address = AddressToTell(options.advertise, options.listen, server.port()),
                        .tls = tls,
                        .identity = identity,
                        .secret = secret,
                        .memory_bytes = memory,
                        .zone = options.zone,
                        .give_up_after = absl::Seconds(options.chief_deadline_seconds)});
  absl::StatusOr<v1::RegisterShardReply> registered = link.Register(shutdown);
  if (absl::IsCancelled(registered.status()) && shutdown.requested()) return absl::OkStatus();
  CAPSTAN_RETURN_IF_ERROR(registered.status());
  const v1::JobSpec& job = registered->job();
  Places places({.checkpoints = options.checkpoint_uri, .from = options.from});
  log::SetJob(job.job());
  log::Info("registered", {{"chief", options.chief}});
  CAPSTAN_FAILPOINT("shard.registered");
  const SteadyClock clock;
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<Shard> shard,
                           Shard::Create(job, identity, metrics, clock));
  shard->accounts().SetMemory(memory);
  const auto learn = [&places, &shard = *shard](const v1::RegisterShardReply& reply) {
    return LearnFrom(reply, shard, places);
  };
  CAPSTAN_RETURN_IF_ERROR(learn(*registered));
  Threads threads;
  Threads gentle_threads(Saver::kNiceness);
  Saver saver(*shard, {.background = gentle_threads, .places = &places});
  Loader loader(*shard, {.background = threads, .places = &places});
  Mover mover(*shard, {.gentle = gentle_threads, .hasty = threads}, ShardPeerOpener(tls));
  StagedPartitions staged(*shard, threads);
  Replicator replicator(*shard);
  const ServedShard served{*shard, saver, loader, mover, staged, replicator};
  service.Serve(&served);
  std::deque<CoordinatorLink> coordinator;
  if (shard->catalog().HasSync()) coordinator.emplace_back(*shard, tls, Watched::kCommits);
  if (shard->rounds().AddsCounted()) coordinator.emplace_back(*shard, tls, Watched::kCounts);
  std::optional<ReplicaSender> replicas;
  if (job.replicas() > 0) replicas.emplace(*shard, tls);
  ViewFollowers followers(*shard, mover, staged, replicator);
  link.Follow(*shard, learn, [&coordinator, &followers](const v1::View& view) {
    const absl::Status followed = followers.Follow();
    for (CoordinatorLink& link : coordinator) link.SetView(view);
    return followed;
  });
  Liveness liveness(health, options.listen, server.port());
  const absl::Status end =
      Serve(link, *shard, health, liveness, absl::Seconds(options.restore_seconds), shutdown);
  if (end.ok()) {
    log::Info("draining");
    Drain(link, *shard, liveness, absl::Seconds(options.grace_seconds));
    coordinator.clear();      // Shutdown would wait for its calls if this shard is the coordinator.
    server.Shutdown(kDrain);  // Calls under way may still wait for backups.
  }
  shard->streams().Close();
  server.Shutdown(absl::ZeroDuration());  // No call may outlive the shard.
  return end;
}

}  // namespace

absl::Status RunPs(const ProcessOptions& options) {
  LimitHeaps(HeapsFor(MemoryOf(options)));
  KeepFreeBytes(KeptBytesFor(MemoryOf(options)));
  int index = options.index;
  if (index < 0) {
    CAPSTAN_ASSIGN_OR_RETURN(index, OrdinalOf(HostName()));
  }
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<const Tls> tls,
                           SetUpProcess(options.service, "ps", absl::StrCat("ps-", index)));
  const Shutdown shutdown;
  metrics::Registry registry;
  MeasureProcess(registry, tls.get());
  ShardMetrics metrics(registry);
  PsService service(metrics, tls.get());
  CAPSTAN_ASSIGN_OR_RETURN(const SidePorts side,
                           SidePorts::Open(HostOf(options.listen), options.service, registry));
  const ServerOptions serving = {
      .listen = options.listen,
      .max_buffer_bytes = static_cast<int>(MessagesLimit(MemoryOf(options))),
      .tls = tls.get()};
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                           Server::Start(serving, {&service}));
  CAPSTAN_ASSIGN_OR_RETURN(const Ports ports, side.Tell(server->port()));
  log::Info("started", {{"version", Version()},
                        {"chief", options.chief},
                        {"port", ports.data},
                        {"health_port", ports.health},
                        {"metrics_port", ports.metrics}});
  const absl::Status end = Follow(options, static_cast<ShardIndex>(index),
                                  {metrics, service, *server, side.health(), tls.get(), shutdown});
  if (end.ok()) log::Info("stopped");
  return end;
}

}  // namespace capstan::ps
