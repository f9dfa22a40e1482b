// ChiefMachine: shards come and go while the job runs, and partitions move between them; see
// Balance, PlanMoves and PartitionMoves.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/status.h"
#include "chief/machine/chief_machine.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kJoinPoll = absl::Milliseconds(50);
constexpr absl::Duration kJoinAgain = absl::Seconds(1);
// What nobody waits for goes little by little.
constexpr size_t kAutomaticMoves = 4;
// A shard that leaves is saved instead when so many of its moves have failed.
constexpr int kMovesMayFail = 2;
// One that was leaving and has fallen silent is not waited for longer than so many leases.
constexpr int kLeasesForLeaver = 3;

}  // namespace

// ---- who is there ----

bool ChiefMachine::IsSilent(const Shard& shard, absl::Time now) const {
  const absl::Duration patience = replicas() ? shard_lease_.patience() : worker_lease();
  return shard.gone || now - std::max(shard.heard, awake_since_) > patience;
}

bool ChiefMachine::MayTake(uint32_t index, absl::Time now) const {
  const Shard* shard = shards_.Find(index);
  return shard != nullptr && shard->present && !shard->draining && !IsSilent(*shard, now);
}

std::set<uint32_t> ChiefMachine::LeavingShards() const {
  std::set<uint32_t> leaving;
  for (const auto& [index, shard] : shards_.shards()) {
    if (shard.draining && views_.Owns(index)) leaving.insert(index);
  }
  return leaving;
}

// Those that leave and whose partitions nobody can take: they are saved.
std::set<uint32_t> ChiefMachine::ShardsToSave(absl::Time now) const {
  std::set<uint32_t> leaving = LeavingShards();
  if (leaving.empty()) return leaving;
  const std::set<uint32_t>& members = views_.members();
  const bool takers = std::any_of(members.begin(), members.end(),
                                  [&](uint32_t index) { return MayTake(index, now); });
  if (!takers) return leaving;
  std::erase_if(leaving,
                [this](uint32_t index) { return moves_.FailuresOf(index) < kMovesMayFail; });
  return leaving;
}

// Whoever owns nothing comes and goes as it likes.
void ChiefMachine::AdvanceMembers(absl::Time now) {
  std::vector<uint32_t> gone;
  for (const auto& [index, shard] : shards_.shards()) {
    if (views_.Owns(index)) continue;
    const bool silent = IsSilent(shard, now);
    if (views_.members().contains(index)) {
      const bool leaves = silent || (shard.draining && IsFree(index));
      if (!leaves || moves_.Concerns(index)) continue;
      views_.RemoveMember(index);
      Log(LogEvent::Level::kInfo, "a shard without partitions is not counted on any more",
          {{"shard", absl::StrCat(index)}, {"because", silent ? "it is silent" : "it leaves"}});
    } else if (silent) {
      gone.push_back(index);
    } else if (MayTake(index, now) && !end_.begun()) {
      Admit(shard);
    }
  }
  for (uint32_t index : gone) {
    calls_.Cancel(Purpose::kJoin, index);
    shards_.Forget(index);
  }
}

// One that was to leave and was ended before it had handed over all it has, or with its consent
// when nobody could take it, may never come back.
std::set<uint32_t> ChiefMachine::ShardsThatLeft(absl::Time now) const {
  std::set<uint32_t> gone = LeavingShards();
  std::erase_if(gone, [&](uint32_t index) {
    return now - shards_.Find(index)->heard <= kLeasesForLeaver * worker_lease();
  });
  return gone;
}

// The others return to a checkpoint without them. True: so it is.
bool ChiefMachine::GiveUpThoseThatLeft(absl::Time now) {
  const std::set<uint32_t> gone = ShardsThatLeft(now);
  std::set<uint32_t> stay = balance_.takers();
  if (gone.empty() || stay.empty()) return false;
  ReturnToCheckpoint(absl::StrCat("shard ", *gone.begin(), " was to leave, and has not come back"),
                     *gone.begin(), now);
  views_.ForgetMap();
  next_map_ = std::move(stay);
  return true;
}

// Likewise where the job was on its way to a checkpoint: it goes there over all that are there.
void ChiefMachine::RestoreWithoutThoseThatLeft(absl::Time now) {
  const std::set<uint32_t> gone = ShardsThatLeft(now);
  std::set<uint32_t> stay;
  for (const auto& [index, shard] : shards_.shards()) {
    if (MayTake(index, now)) stay.insert(index);
  }
  if (gone.empty() || stay.empty()) return;
  Log(LogEvent::Level::kWarning, "a shard that was to load has left; the others do without it",
      {{"shard", absl::StrCat(*gone.begin())}});
  calls_.CancelAll();
  views_.ForgetMap();
  next_map_ = std::move(stay);
  recovery_.Begin(Sources(), now);
}

// It is told the timeline first: then everybody may call it.
void ChiefMachine::Admit(const Shard& shard) {
  if (gate_.published().timeline() != timeline()) return;
  if (shard.loaded_timeline == timeline()) {
    views_.AddMember(shard.index);
    Log(LogEvent::Level::kInfo, "a shard has joined", {{"shard", absl::StrCat(shard.index)}});
    return;
  }
  if (calls_.Pending(Purpose::kJoin, shard.index)) return;
  calls_.Send(Purpose::kJoin, shard.index, v1::LoadPartitionsRequest(), options_.call_deadline);
}

void ChiefMachine::OnJoinAnswer(const ShardCalls::Answer& answer, absl::Time now) {
  Shard* shard = shards_.Find(answer.shard);
  if (shard == nullptr || views_.members().contains(answer.shard)) return;
  if (answer.reply.ok() && std::get<v1::LoadPartitionsReply>(*answer.reply).done()) {
    shard->loaded_timeline = timeline();
    return;
  }
  if (!answer.reply.ok()) {
    Log(LogEvent::Level::kWarning, "a shard cannot join yet",
        {{"shard", absl::StrCat(answer.shard)}, {"error", answer.reply.status().ToString()}});
  }
  calls_.Send(Purpose::kJoin, answer.shard, v1::LoadPartitionsRequest(), options_.call_deadline,
              now + (answer.reply.ok() ? kJoinPoll : kJoinAgain));
}

// Nobody takes it for the owner or the backup of anything, nor will.
bool ChiefMachine::IsFree(uint32_t shard) const {
  const v1::View& known = gate_.published();
  const auto backed = [shard](const v1::PartitionPair& pair) { return pair.backup() == shard; };
  return !views_.Owns(shard) && !views_.Backs(shard) && !moves_.Concerns(shard) &&
         std::find(known.owners().begin(), known.owners().end(), shard) == known.owners().end() &&
         std::none_of(known.pairs().begin(), known.pairs().end(), backed);
}

bool ChiefMachine::MayLeave(uint32_t shard, absl::Time now) const {
  if (ended() || state_ == v1::JOB_STATE_PENDING || state_ == v1::JOB_STATE_RESTORING) return true;
  if (frozen_ || IsFree(shard)) return true;
  return !checkpointer_.enabled() && ShardsToSave(now).contains(shard);
}

// ---- what is to be moved ----

MoveQuestion ChiefMachine::QuestionOf(bool even) const {
  const auto& owners = views_.current().owners();
  return {.owners = {owners.begin(), owners.end()},
          .weights = loads_.weights(),
          .takers = balance_.takers(),
          .even = even,
          .backups = Backups()};
}

std::vector<std::optional<uint32_t>> ChiefMachine::Backups() const {
  const v1::View& view = views_.current();
  std::vector<std::optional<uint32_t>> backups(static_cast<size_t>(view.owners_size()));
  for (const v1::PartitionPair& pair : view.pairs()) backups[pair.partition()] = pair.backup();
  return backups;
}

void ChiefMachine::SeeBalance(absl::Time now) {
  Balance::Counts stay;
  for (uint32_t index : views_.members()) {
    if (MayTake(index, now)) stay[index] = 0;
  }
  for (uint32_t owner : views_.current().owners()) {
    if (const auto found = stay.find(owner); found != stay.end()) ++found->second;
  }
  const bool automatic = plan_.spec.rebalance().automatic();
  const double skew = automatic && !stay.empty() ? SkewOf(QuestionOf(true)).load : 1;
  balance_.See(stay, LeavingShards(), skew, now);
  if (replicas()) pairing_.See(balance_.takers(), Unpaired(), now);
}

// Checkpoints, evaluations that need rest and the way out come first; a batch that is under way is
// small, and they wait for it.
bool ChiefMachine::MayMove(absl::Time now) const {
  const v1::View& published = gate_.published();
  const bool rests = rest_.step != Rest::Step::kNone || rest_.save ||
                     (EvaluatesAtRest() && (EvaluationDue() || evaluations_.running()));
  return moves_.MayBegin(now) && !end_.begun() && !rests && partial_.empty() && !frozen_ &&
         recovery_.phase() == Recovery::Phase::kIdle && !checkpointer_.running() &&
         !CheckpointDue(now) && !closed_ && ShardsToSave(now).empty() &&
         published.moves().empty() && published.timeline() == timeline();
}

// Shards may have come and gone since the last batch.
void ChiefMachine::PlanMoves(absl::Time now) {
  const auto possible = [&](const PlannedMove& move) {
    const v1::PartitionPair* pair = views_.PairOf(move.partition);
    const bool paired = move.replica && pair != nullptr && pair->backup() == move.to;
    return !paired && MayTake(move.to, now) && views_.members().contains(move.to) &&
           views_.current().owners(static_cast<int>(move.partition)) == move.from;
  };
  if (moves_.ForgetPlanUnless(possible)) balance_.OnGivenUp();
  const std::optional<Balance::Reason> reason = balance_.TakeReason(now);
  if (!reason) return;
  std::vector<PlannedMove> moves = chief::PlanMoves(QuestionOf(reason->even));
  if (reason->automatic && moves.size() > kAutomaticMoves) moves.resize(kAutomaticMoves);
  if (moves.empty()) return balance_.OnCarriedOut();
  Log(LogEvent::Level::kInfo, "partitions are to be moved",
      {{"because", reason->why}, {"partitions", absl::StrCat(moves.size())}});
  moves_.Plan(std::move(moves), reason->why);
}

// The target has the partition already: as its backup.
bool ChiefMachine::HandsOver(const PlannedMove& move) const {
  const v1::PartitionPair* const pair = views_.PairOf(move.partition);
  return !move.replica && pair != nullptr && pair->backup() == move.to &&
         pair->backup_incarnation() == Raw(shards_.Find(move.to)->incarnation);
}

void ChiefMachine::OrderMoves(absl::Time now) {
  std::vector<v1::PartitionMove> moves;
  const auto bytes_of = [this](const PlannedMove& move) {
    return HandsOver(move) ? 0 : loads_.bytes(move.partition);
  };
  for (const PlannedMove& planned : moves_.Begin(bytes_of, now)) {
    v1::PartitionMove& move = moves.emplace_back();
    move.set_partition(planned.partition);
    move.set_to(planned.to);
    move.set_to_incarnation(Raw(shards_.Find(planned.to)->incarnation));
    move.set_replica(planned.replica);
    move.set_hand_over(HandsOver(planned));
  }
  // Nobody has two copies of a partition, and none has two backups.
  views_.DropPairs([&moves](const v1::PartitionPair& pair) {
    return std::any_of(moves.begin(), moves.end(), [&pair](const v1::PartitionMove& move) {
      const bool anew = move.to() == pair.backup() && !move.hand_over();
      return move.partition() == pair.partition() && (move.replica() || anew);
    });
  });
  views_.SetMoves(moves);
}

// ---- the batch under way ----

// OK, or why the batch under way cannot go on.
absl::Status ChiefMachine::MovesFailure(absl::Time now) const {
  CAPSTAN_RETURN_IF_ERROR(moves_.Failure(now));
  for (const auto& [index, shard] : shards_.shards()) {
    if (moves_.Concerns(index) && IsSilent(shard, now)) {
      return absl::UnavailableError(absl::StrCat("shard ", index, " is silent"));
    }
  }
  for (const v1::PartitionMove& move : views_.current().moves()) {
    if (move.hand_over() && views_.PairOf(move.partition()) == nullptr) {
      return absl::UnavailableError(absl::StrCat("partition ", move.partition(),
                                                 " has lost the backup that it was to go to"));
    }
  }
  return absl::OkStatus();
}

// OK, or what comes before the batch under way.
absl::Status ChiefMachine::MovesAreInTheWay(absl::Time now) const {
  if (end_.begun()) return absl::CancelledError("the job ends");
  if (rest_.save) return absl::CancelledError("the best model so far is to be saved");
  if (!partial_.empty()) return absl::CancelledError("a shard returns to a checkpoint");
  if (!ShardsToSave(now).empty()) return absl::CancelledError("a shard leaves, and is saved");
  const auto leaves = [this](const v1::PartitionMove& move) {
    return shards_.Find(move.to())->draining;
  };
  const auto& moves = views_.current().moves();
  if (std::any_of(moves.begin(), moves.end(), leaves)) {
    return absl::CancelledError("a shard that was to take partitions leaves");
  }
  return absl::OkStatus();
}

void ChiefMachine::CancelMoves(const absl::Status& why, absl::Time now) {
  if (!moves_.under_way() && !moves_.planned()) return;
  const bool failed = !absl::IsCancelled(why);
  Log(failed ? LogEvent::Level::kWarning : LogEvent::Level::kInfo,
      "moves of partitions are cancelled", {{"because", std::string(why.message())}});
  moves_.Cancel(failed, now, calls_);
  views_.ClearMoves();
  balance_.OnGivenUp();
}

// What a switch would disturb is over. Streams closed on the source and not yet on the target would
// be open there; a round has its gradients where its partitions were.
bool ChiefMachine::MaySwitch() const {
  const bool at_rest = work_.has_lanes() ? barrier_.reached() : rest_.step == Rest::Step::kNone;
  const bool evaluates = EvaluatesAtRest() && evaluations_.running();
  return at_rest && !evaluates && !checkpointer_.running() && closer_.complete() &&
         !calls_.Pending(Purpose::kClose) && !calls_.Pending(Purpose::kFlush);
}

void ChiefMachine::OnMovesSwitched(absl::Time now) {
  const v1::MoveStatus status = moves_.Status();
  Log(LogEvent::Level::kInfo, "partitions have moved, or have been given a backup",
      {{"moved so far", absl::StrCat(status.moved())},
       {"given a backup so far", absl::StrCat(status.paired())},
       {"stood still for", absl::StrFormat("%.3f s", status.seconds())}});
  if (!moves_.planned()) balance_.OnCarriedOut();
  // The rounds were held where the coordinator was.
  if (work_.has_lanes()) Resume();
  SeeBalance(now);
}

// True: the view has changed, and there may be more to do once it is published. `plans`: something
// may be different about the shards.
bool ChiefMachine::StepMoves(bool plans, absl::Time now) {
  if (moves_.OnView(gate_.published(), now, calls_)) {
    OnMovesSwitched(now);
    return true;
  }
  if (moves_.copied() && MaySwitch()) moves_.Finish(now, calls_);
  if (moves_.done()) {
    moves_.Switch();
    views_.CarryOutMoves();
    return true;
  }
  if (!plans && !moves_.planned()) return false;
  if (!MayMove(now)) return false;
  SeeBalance(now);
  PlanMoves(now);
  PlanReplicas(now);
  if (!moves_.planned()) return false;
  OrderMoves(now);
  return true;
}

void ChiefMachine::AdvanceMoves(absl::Time now) {
  if (state_ != v1::JOB_STATE_RUNNING || !takeover_.settled()) return;
  const bool heard = std::exchange(heard_of_shards_, false);
  bool changed = heard;
  if (heard) {
    AdvanceMembers(now);
    SeeBalance(now);
    if (GiveUpThoseThatLeft(now)) return RefreshView(now);
  }
  if (moves_.under_way() && moves_.phase() != PartitionMoves::Phase::kSwitched) {
    absl::Status why = MovesAreInTheWay(now);
    why.Update(MovesFailure(now));
    if (!why.ok()) {
      CancelMoves(why, now);
      changed = true;
    }
  }
  if (changed) RefreshView(now);
  while (StepMoves(/*plans=*/heard, now)) RefreshView(now);
}

absl::StatusOr<v1::RebalanceReply> ChiefMachine::Rebalance(const v1::RebalanceRequest& request,
                                                           absl::Time now) {
  if (state_ != v1::JOB_STATE_RUNNING || !takeover_.settled() || end_.begun()) {
    return absl::FailedPreconditionError("the job is not training");
  }
  SeeBalance(now);
  const MoveQuestion question = QuestionOf(/*even=*/true);
  const std::vector<PlannedMove> moves = chief::PlanMoves(question);
  v1::RebalanceReply reply;
  for (const PlannedMove& planned : moves) {
    v1::PlannedMove& move = *reply.add_moves();
    move.set_partition(planned.partition);
    move.set_from(planned.from);
    move.set_to(planned.to);
    move.set_bytes(question.weights[planned.partition].bytes);
    move.set_load(question.weights[planned.partition].load);
  }
  const Skew before = SkewOf(question);
  const Skew after = SkewOf(After(question, moves));
  reply.set_load_skew_before(before.load);
  reply.set_load_skew_after(after.load);
  reply.set_byte_skew_before(before.bytes);
  reply.set_byte_skew_after(after.bytes);
  if (request.plan_only() || moves.empty()) return reply;
  balance_.Ask();
  heard_of_shards_ = true;
  Advance(now);
  return reply;
}

}  // namespace capstan::chief
