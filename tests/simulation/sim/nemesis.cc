#include "tests/simulation/sim/nemesis.h"

#include <string>

namespace capstan::sim {
namespace {

constexpr absl::Duration kShortestFreeze = absl::Milliseconds(50);
constexpr absl::Duration kLongestFreeze = absl::Seconds(7);  // More than two leases.
constexpr absl::Duration kShortestAway = absl::Milliseconds(200);
constexpr absl::Duration kLongestAway = absl::Seconds(5);
constexpr absl::Duration kLongestCut = absl::Seconds(4);
constexpr absl::Duration kShortGrace = absl::Milliseconds(1500);
constexpr absl::Duration kServersFreeze = absl::Seconds(3);
constexpr absl::Duration kLongestStall = absl::Seconds(10);
constexpr absl::Duration kLongestStoreAway = absl::Seconds(12);

// The blows at one world.
class Blows {
 public:
  Blows(World& world, const WorldOptions& options)
      : world_(world), options_(options), schedule_(world.schedule()), network_(world.network()) {}

  void Kill(HostId host) {
    if (!network_.IsUp(host)) return;
    schedule_.Note("kill ", network_.name(host));
    world_.Kill(host, schedule_.Between(kShortestAway, kLongestAway));
  }

  void Freeze(HostId host, absl::Duration most) {
    const absl::Duration length = schedule_.Between(kShortestFreeze, most);
    schedule_.Note("freeze ", network_.name(host), " for ", absl::FormatDuration(length));
    network_.Freeze(host, length);
  }

  template <typename Process>
  void Drain(HostId host, Process* process) {
    if (!network_.IsUp(host)) return;
    schedule_.Note("drain ", network_.name(host));
    network_.After(process->life(), absl::ZeroDuration(), [process] { process->Drain(); });
  }

  void ReplaceChief() {
    schedule_.Note("another chief begins");
    if (schedule_.Chance(0.5)) Freeze(world_.ruling_chief_host(), kLongestFreeze);
    world_.ReplaceChief();
  }

  void Grow() {
    schedule_.Note("another shard");
    world_.Grow();
  }

  void Join() {
    schedule_.Note("a shard joins");
    world_.Join();
  }

  void Rebalance() {
    ChiefProcess* const chief = world_.ruling_chief();
    if (!chief->serves()) return;
    schedule_.Note("somebody asks that shards be made even");
    network_.After(chief->life(), absl::ZeroDuration(), [chief] { chief->Rebalance(); });
  }

  // One worker may never read again, if there are others.
  void Stall(size_t worker) {
    if (!network_.IsUp(world_.worker_host(worker))) return;
    const bool for_ever = worker == 0 && options_.workers > 1;
    const absl::Duration length =
        for_ever ? absl::InfiniteDuration() : schedule_.Between(kShortestAway, kLongestStall);
    schedule_.Note("the data of ", network_.name(world_.worker_host(worker)), " stall for ",
                   absl::FormatDuration(length));
    world_.worker(worker)->Stall(length);
  }

  void KillAll() {
    Kill(world_.ruling_chief_host());
    for (uint32_t i = 0; i < world_.shard_count(); ++i) Kill(world_.shard_host(i));
    for (uint32_t i = 0; i < options_.workers; ++i) Kill(world_.worker_host(i));
  }

  void Cut() {
    const HostId from = schedule_.Below(network_.hosts());
    const HostId to = schedule_.Below(network_.hosts());
    const absl::Duration length = schedule_.Between(kShortestFreeze, kLongestCut);
    schedule_.Note("cut ", network_.name(from), " to ", network_.name(to), " for ",
                   absl::FormatDuration(length));
    network_.Cut(from, to, length);
  }

  void StoreAway() {
    const absl::Duration length = schedule_.Between(kShortestFreeze, kLongestStoreAway);
    schedule_.Note("the store is away for ", absl::FormatDuration(length));
    world_.store().GoAway(length);
  }

  // It is ended before it may leave, at whatever point of its way out.
  void DrainAndKill(uint32_t shard) {
    const HostId host = world_.shard_host(shard);
    ShardProcess* const process = world_.shard(shard);
    Drain(host, process);
    network_.After(
        process->life(), schedule_.Between(absl::ZeroDuration(), kShortGrace),
        [&world = world_, &options = options_, host] { Blows(world, options).Kill(host); });
  }

  // All partitions have a backup, as far as everybody knows, and no shard is about to end.
  bool IsBacked() const {
    ChiefProcess* const chief = world_.ruling_chief();
    if (!chief->serves() || chief->state() != v1::JOB_STATE_RUNNING) return false;
    const v1::View& view = chief->view();
    const auto lives = [this](uint32_t shard, uint64_t incarnation) {
      const HostId host = world_.shard_host(shard);
      return network_.IsUp(host) && !network_.IsFrozen(host) && !world_.shard(shard)->draining() &&
             world_.shard(shard)->incarnation() == incarnation;
    };
    for (const v1::ShardInfo& shard : view.shards()) {
      if (!lives(shard.index(), shard.incarnation())) return false;
    }
    for (const v1::PartitionPair& pair : view.pairs()) {
      if (!lives(pair.backup(), pair.backup_incarnation())) return false;
    }
    return view.owners_size() > 0 && view.pairs_size() == view.owners_size();
  }

  void AskForCheckpoint() {
    ChiefProcess* const chief = world_.ruling_chief();
    if (!chief->serves()) return;
    network_.After(chief->life(), absl::ZeroDuration(), [chief] { chief->TakeCheckpoint(); });
  }

 private:
  World& world_;
  const WorldOptions& options_;
  Schedule& schedule_;
  Network& network_;
};

}  // namespace

void Strike(World& world, const WorldOptions& options) {
  const Troubles& troubles = options.troubles;
  Schedule& schedule = world.schedule();
  Blows blows(world, options);
  const size_t worker = schedule.Below(options.workers);
  const auto shard = static_cast<uint32_t>(schedule.Below(world.shard_count()));
  // What shards hold of a job that is over is in the store, or nowhere.
  const bool may_lose = !options.job.uri.empty() || !world.JobIsOver();
  if (troubles.kill_backed) {
    if (!blows.IsBacked()) return;
    if (schedule.Chance(0.5)) return blows.DrainAndKill(shard);
    return blows.Kill(world.shard_host(shard));
  }
  const bool spares = troubles.spare_unbacked > 0 && schedule.Chance(troubles.spare_unbacked);
  if (spares && !blows.IsBacked()) return;
  if (troubles.stall_data && schedule.Below(8) == 0) return blows.Stall(worker);
  const bool moves = troubles.join_shards || troubles.leave_shards || troubles.rebalance;
  if (moves && schedule.Below(4) == 0) {
    switch (schedule.Below(3)) {
      case 0:
        if (troubles.join_shards) blows.Join();
        return;
      case 1:
        if (troubles.leave_shards && may_lose) world.Leave(shard);
        return;
      default:
        if (troubles.rebalance) blows.Rebalance();
        return;
    }
  }
  switch (schedule.Below(troubles.grow ? 14 : 13)) {
    case 0:
      if (troubles.kill_workers) blows.Kill(world.worker_host(worker));
      return;
    case 1:
      if (troubles.drain_workers) blows.Drain(world.worker_host(worker), world.worker(worker));
      return;
    case 2:
      if (troubles.freeze_workers) blows.Freeze(world.worker_host(worker), kLongestFreeze);
      return;
    case 3:
      if (troubles.kill_shards && may_lose) blows.Kill(world.shard_host(shard));
      return;
    case 4:
      if (troubles.drain_shards && may_lose) {
        blows.Drain(world.shard_host(shard), world.shard(shard));
      }
      return;
    case 5:
      if (troubles.freeze_shards) {
        // With replicas there is somebody who takes its place meanwhile.
        blows.Freeze(world.shard_host(shard),
                     options.job.replicas > 0 ? kLongestFreeze : kServersFreeze);
      }
      return;
    case 6:
      if (troubles.kill_chief && may_lose) blows.Kill(world.ruling_chief_host());
      return;
    case 7:
      if (troubles.replace_chief) blows.ReplaceChief();
      return;
    case 8:
      if (troubles.freeze_chief) blows.Freeze(world.ruling_chief_host(), kServersFreeze);
      return;
    case 9:
      if (troubles.kill_all && may_lose) blows.KillAll();
      return;
    case 10:
      if (troubles.cut_links) blows.Cut();
      return;
    case 11:
      if (troubles.store_away) blows.StoreAway();
      return;
    case 12:
      if (troubles.grow) return blows.Grow();
      [[fallthrough]];
    default:
      blows.AskForCheckpoint();
  }
}

}  // namespace capstan::sim
