// ChiefMachine: partitions that two shards hold (replicas: 1). A shard that is lost is replaced by
// the backups of all that it owned, in one view and in the same timeline: nobody returns to a
// checkpoint, and leases of workers hold. See ShardLease, PlanReplicas, and the rules 15, 18 and 29
// to 32 of docs/spec.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "chief/machine/chief_machine.h"

namespace capstan::chief {
namespace {

// A process that has not looked at its shards for such a part of their lease has slept, and knows
// nothing of their silence.
constexpr int kSleptShare = 4;
// Shards are heard of four times a lease (HeartbeatOf). A chief that has heard of none of them for
// such a part of it is cut off itself.
constexpr int kDeafShare = 2;
// Partitions are without a backup for a while whenever a shard has gone; longer is worth a word.
constexpr absl::Duration kUnpairedIsOdd = absl::Minutes(1);

bool SameEpoch(const v1::ViewEpoch& a, const v1::ViewEpoch& b) {
  return a.term() == b.term() && a.n() == b.n();
}

}  // namespace

// ---- leases, and who is lost ----

// Only the present process of a shard that everybody has heard of.
double ChiefMachine::LeaseOf(uint32_t index, uint64_t incarnation, absl::Time now) {
  if (!replicas() || superseded()) return 0;
  const Shard* shard = shards_.Find(index, Incarnation{incarnation});
  if (shard == nullptr || shard->gone) return 0;
  const auto& named = gate_.published().shards();
  const bool known = std::any_of(named.begin(), named.end(), [&](const v1::ShardInfo& info) {
    return info.index() == index && info.incarnation() == incarnation;
  });
  return known ? shard_lease_.Grant(incarnation, now) : 0;
}

bool ChiefMachine::IsLost(const Shard& shard, absl::Time now) const {
  return shard.gone || (HearsOfShards(now) && IsSilent(shard, now) &&
                        shard_lease_.IsOver(Raw(shard.incarnation), now));
}

void ChiefMachine::OnShardGone(uint32_t index, uint64_t incarnation, absl::Time now) {
  Shard* shard = shards_.Find(index, Incarnation{incarnation});
  if (!replicas() || shard == nullptr || shard->gone) return;
  shard->gone = true;
  shard_lease_.Forget(incarnation);
  Log(LogEvent::Level::kWarning, "the process of a shard has ended: its port refuses connections",
      {{"shard", absl::StrCat(index)}});
  heard_of_shards_ = true;
  Advance(now);
}

std::string ChiefMachine::AddressOf(uint32_t index, uint64_t incarnation) const {
  const Shard* shard = shards_.Find(index);
  if (shard == nullptr || shard->gone || Raw(shard->incarnation) != incarnation) return "";
  return shard->address;
}

// ---- promotion ----

// OK, or why the backup cannot take over. UNAVAILABLE: not now.
absl::Status ChiefMachine::CheckBackup(const v1::PartitionPair& pair, absl::Time now) const {
  const Shard* backup = shards_.Find(pair.backup());
  if (backup == nullptr || backup->gone || Raw(backup->incarnation) != pair.backup_incarnation()) {
    return absl::FailedPreconditionError(absl::StrCat("the backup of partition ", pair.partition(),
                                                      ", shard ", pair.backup(), ", is lost too"));
  }
  if (!backup->present || IsSilent(*backup, now)) {
    return absl::UnavailableError(absl::StrCat("the backup of partition ", pair.partition(),
                                               ", shard ", pair.backup(), ", is silent too"));
  }
  if (backup->loaded_timeline != timeline()) {
    return absl::FailedPreconditionError(
        absl::StrCat("shard ", pair.backup(), " has not what it is to back up"));
  }
  return absl::OkStatus();
}

// OK, or why the backups of all that the shard owns cannot take over. UNAVAILABLE: not now.
absl::Status ChiefMachine::MayBeReplaced(uint32_t shard, absl::Time now) const {
  if (!replicas()) return absl::FailedPreconditionError("partitions have no backups");
  if (frozen_) return absl::FailedPreconditionError("all are to return to a checkpoint");
  absl::Status possible;
  const auto& owners = views_.current().owners();
  for (uint32_t partition = 0; partition < static_cast<uint32_t>(owners.size()); ++partition) {
    if (owners[static_cast<int>(partition)] != shard) continue;
    const v1::PartitionPair* pair = views_.PairOf(partition);
    if (pair == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat("partition ", partition, " has no backup"));
    }
    const absl::Status usable = CheckBackup(*pair, now);
    if (absl::IsFailedPrecondition(usable)) return usable;
    possible.Update(usable);
  }
  return possible;
}

// REQUIRES: MayBeReplaced. A process that is lost is not listened to any more.
void ChiefMachine::Promote(uint32_t shard, std::string_view cause, absl::Time now) {
  const absl::Status why = absl::UnavailableError(absl::StrCat("shard ", shard, " is lost"));
  if (moves_.phase() != PartitionMoves::Phase::kSwitched) CancelMoves(why, now);
  if (checkpointer_.saving()) {
    checkpointer_.Abandon(absl::CancelledError(why.message()), now, calls_);
    save_again_ = true;
  }
  if (!promotion_) promotion_ = Promotion{.begun = now};
  promotion_->view = 0;
  promotion_->coordinator = promotion_->coordinator || views_.coordinator() == shard;
  promotion_->flushes = promotion_->flushes || calls_.Pending(Purpose::kFlush);
  calls_.Cancel(Purpose::kFlush);
  // What the lost shard has not confirmed its backups have not closed either.
  calls_.Cancel(Purpose::kClose);
  for (v1::StreamClose& close : closer_.TakeAll()) closer_.Add(std::move(close));
  const auto& owners = views_.current().owners();
  const auto partitions = std::count(owners.begin(), owners.end(), shard);
  views_.Promote({shard});
  // It may believe that it is the owner until it hears of the view. Another process in its place
  // knows better.
  if (IsLost(*shards_.Find(shard), now)) shards_.GiveUp(shard);
  replica_counts_.set_promotions(replica_counts_.promotions() + 1);
  replica_counts_.set_promoted(replica_counts_.promoted() + static_cast<uint64_t>(partitions));
  Log(LogEvent::Level::kWarning, "backups take over for a shard; nothing is lost",
      {{"shard", absl::StrCat(shard)},
       {"because", std::string(cause)},
       {"partitions", absl::StrCat(partitions)}});
}

void ChiefMachine::ListenForShards(absl::Time now) {
  if (now > looked_at_ + shard_lease_.patience() / kSleptShare) awake_since_ = now;
  looked_at_ = now;
  absl::Time last = absl::InfinitePast();
  for (const auto& [index, shard] : shards_.shards()) {
    if (!shard.gone) last = std::max(last, shard.heard);
  }
  if (last < now - shard_lease_.patience() / kDeafShare) deaf_until_ = now;
}

// Otherwise silence tells of the chief, not of a shard: after it was cut off, whoever is alive has
// as long as ever to be heard of.
bool ChiefMachine::HearsOfShards(absl::Time now) const {
  return now > deaf_until_ + shard_lease_.patience();
}

// Where one of its partitions has no backup that could, all wait for the shard, or for another
// process in its place, which leads back to a checkpoint.
void ChiefMachine::ReplaceLost(absl::Time now) {
  const std::set<uint32_t> owners = views_.owners();
  for (uint32_t index : owners) {
    const Shard* shard = shards_.Find(index);
    if (shard == nullptr || !IsLost(*shard, now) || !MayBeReplaced(index, now).ok()) continue;
    Promote(index, shard->gone ? "its process has ended" : "it is silent, and its lease is over",
            now);
  }
}

// Of those that a chief before this one left at work. True: those that are to take over what others
// held may yet be heard of.
bool ChiefMachine::ReplaceThoseThatDidNotComeBack(absl::Time now) {
  if (!replicas()) return false;
  const std::set<uint32_t> changed = takeover_.Changed(shards_);
  std::set<uint32_t> lost = changed;
  for (uint32_t index : takeover_.Awaited(shards_)) {
    const Shard* shard = shards_.Find(index);
    if (shard != nullptr && IsLost(*shard, now)) lost.insert(index);
  }
  bool waits = false;
  for (uint32_t index : lost) {
    const absl::Status possible = MayBeReplaced(index, now);
    if (absl::IsUnavailable(possible) && !takeover_.patience_over(now)) waits = true;
    if (!possible.ok()) continue;
    std::map<uint32_t, uint64_t> successors;
    for (const v1::PartitionPair& pair : views_.current().pairs()) {
      const uint32_t owner = views_.current().owners(static_cast<int>(pair.partition()));
      if (owner == index) successors[pair.backup()] = pair.backup_incarnation();
    }
    const bool anew = changed.contains(index);
    Promote(index, anew ? "it was started anew" : "it is silent since before this chief", now);
    takeover_.Replace(index, successors);
  }
  return waits;
}

// True: it is under way, and everything else waits for the view.
bool ChiefMachine::AdvancePromotion(absl::Time now) {
  if (!promotion_) return false;
  RefreshView(now);
  if (promotion_->view == 0) promotion_->view = views_.current().epoch().n();
  if (gate_.published().epoch().n() < promotion_->view) return true;
  OnPromoted(now);
  return false;
}

// Everybody may hear of the new owners: what was asked of the old ones is asked of them.
void ChiefMachine::OnPromoted(absl::Time now) {
  const Promotion promotion = *std::exchange(promotion_, std::nullopt);
  if (work_.has_lanes()) {
    barrier_.AskAnew(views_.coordinator(), promotion.coordinator, options_.call_deadline, calls_);
  }
  if (promotion.flushes) FlushShards();
  heard_of_shards_ = true;
  Log(LogEvent::Level::kInfo, "all may hear of the new owners",
      {{"after", absl::StrFormat("%.3f s", absl::ToDoubleSeconds(now - promotion.begun))}});
}

// ---- pairs that are over ----

// A shard that leaves is a backup for as long as it has partitions of its own to hand over.
bool ChiefMachine::IsOver(const v1::PartitionPair& pair, absl::Time now) const {
  const Shard* backup = shards_.Find(pair.backup());
  return !replicas() || backup == nullptr || backup->gone ||
         (backup->draining && !views_.Owns(pair.backup())) ||
         (HearsOfShards(now) && IsSilent(*backup, now)) ||
         Raw(backup->incarnation) != pair.backup_incarnation() ||
         !views_.members().contains(pair.backup());
}

// An owner goes on alone when a view says so, and answers nobody before.
void ChiefMachine::DropPairs(absl::Time now) {
  const size_t dropped =
      views_.DropPairs([&](const v1::PartitionPair& pair) { return IsOver(pair, now); });
  if (dropped == 0) return;
  replica_counts_.set_dropped(replica_counts_.dropped() + dropped);
  Log(LogEvent::Level::kWarning, "partitions have no backup any more: the shard is lost, or leaves",
      {{"partitions", absl::StrCat(dropped)}});
}

void ChiefMachine::HearOfBrokenPairs(const Shard& shard) {
  const auto& told = shard.report.broken_pairs();
  if (told.empty()) return;
  const size_t broken = views_.DropPairs([&](const v1::PartitionPair& pair) {
    const bool its_own = pair.backup() == shard.index &&
                         pair.backup_incarnation() == Raw(shard.incarnation) && pair.has_id();
    return its_own && std::any_of(told.begin(), told.end(), [&](const v1::BrokenPair& one) {
             return one.partition() == pair.partition() && SameEpoch(one.pair(), pair.id());
           });
  });
  if (broken == 0) return;
  replica_counts_.set_dropped(replica_counts_.dropped() + broken);
  replica_counts_.set_broken(replica_counts_.broken() + broken);
  Log(LogEvent::Level::kError, "backups are out of step with their owners, and are made anew",
      {{"shard", absl::StrCat(shard.index)}, {"partitions", absl::StrCat(broken)}});
}

void ChiefMachine::AdvanceReplicas(absl::Time now) {
  if (!replicas() && views_.current().pairs().empty()) return;
  ListenForShards(now);
  const bool serving = state_ == v1::JOB_STATE_RUNNING || state_ == v1::JOB_STATE_CHECKPOINTING;
  if (!heard_of_shards_ || !serving || !takeover_.settled()) return;
  ReplaceLost(now);
  DropPairs(now);
}

// ---- pairs that are to be made ----

size_t ChiefMachine::Unpaired() const {
  const v1::View& view = views_.current();
  return static_cast<size_t>(view.owners_size() - view.pairs_size());
}

ReplicaQuestion ChiefMachine::ReplicaQuestionOf() const {
  const v1::View& view = views_.current();
  ReplicaQuestion question{.owners = {view.owners().begin(), view.owners().end()},
                           .backups = Backups(),
                           .weights = loads_.weights(),
                           .takers = balance_.takers(),
                           .zones = {},
                           .even = pairing_.spreads()};
  for (const auto& [index, shard] : shards_.shards()) {
    if (!shard.zone.empty()) question.zones[index] = shard.zone;
  }
  return question;
}

// What balances or empties shards comes first: it would undo pairs.
void ChiefMachine::PlanReplicas(absl::Time now) {
  if (!replicas() || moves_.planned()) return;
  if (!pairing_.Due(now) || balance_.AwaitsOthers(now)) return;
  std::vector<PlannedMove> moves = chief::PlanReplicas(ReplicaQuestionOf());
  pairing_.OnPlanned();
  if (moves.empty()) return;
  const size_t unpaired = Unpaired();
  std::string why = "backups are to be spread over the shards";
  if (unpaired > 0) {
    why =
        absl::StrCat(unpaired, unpaired == 1 ? " partition has" : " partitions have", " no backup");
  }
  Log(LogEvent::Level::kInfo, "partitions are to be given a backup",
      {{"because", why}, {"partitions", absl::StrCat(moves.size())}});
  moves_.Plan(std::move(moves), std::move(why));
}

// ---- what people see ----

void ChiefMachine::WatchReplicas(absl::Time now) {
  if (!replicas()) return;
  const bool unpaired = state_ == v1::JOB_STATE_RUNNING && Unpaired() > 0;
  unpaired_since_ = unpaired ? std::min(unpaired_since_, now) : absl::InfiniteFuture();
  std::string sentence;
  if (unpaired && takeover_.settled() && pairing_.alone() && !end_.begun()) {
    sentence =
        "no partition has a backup, for there are not two shards that could hold one (replicas: "
        "1); "
        "the job goes on, and returns to its last checkpoint if a shard is lost";
  } else if (now > unpaired_since_ + kUnpairedIsOdd) {
    sentence = absl::StrCat(Unpaired(), " of ", views_.current().owners_size(),
                            " partitions have had no backup for more than ",
                            absl::FormatDuration(kUnpairedIsOdd),
                            "; if their shard is lost, the job returns to its last checkpoint");
  }
  NoteWarning("replicas", std::move(sentence));
}

void ChiefMachine::FillReplicas(v1::ReplicaStatus& status) const {
  if (!replicas()) return;
  status = replica_counts_;
  status.set_wanted(plan_.spec.replicas());
  status.set_paired(static_cast<uint32_t>(views_.current().pairs_size()));
  status.set_unpaired(static_cast<uint32_t>(Unpaired()));
}

}  // namespace capstan::chief
