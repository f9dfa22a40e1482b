#include "chief/duties/move_planner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

// Partitions lack a backup for a short time whenever a shard has gone. Only a longer time is
// unusual.
constexpr absl::Duration kUnpairedIsOdd = absl::Minutes(1);
// The most moves of an automatic plan.
constexpr size_t kAutomaticMoves = 4;

}  // namespace

MovePlanner::MovePlanner(JobContext& job, Orders& orders)
    : Duty(job, orders),
      balance_({.automatic = job.plan.spec.rebalance().automatic(),
                .join_settling = job.options.join_settling,
                .leave_settling = job.options.leave_settling}),
      pairing_(job.options.pair_settling) {}

void MovePlanner::See(absl::Time now) {
  Balance::Counts stay;
  std::set<uint32_t> takers;
  for (uint32_t index : job_->placement.views.members()) {
    if (!job_->placement.MayTake(index, now)) continue;
    stay[index] = 0;
    takers.insert(index);
  }
  for (uint32_t owner : job_->placement.views.current().owners()) {
    if (const auto found = stay.find(owner); found != stay.end()) ++found->second;
  }
  const bool automatic = job_->plan.spec.rebalance().automatic();
  const double skew =
      automatic && !takers.empty() ? SkewOf(QuestionOf(/*even=*/true, takers)).load : 1;
  balance_.See(stay, job_->placement.LeavingShards(), skew, now);
  if (job_->replicas()) pairing_.See(balance_.takers(), job_->placement.Unpaired(), now);
}

MoveQuestion MovePlanner::QuestionOf(bool even, std::set<uint32_t> takers) const {
  const auto& owners = job_->placement.views.current().owners();
  return {.owners = {owners.begin(), owners.end()},
          .weights = job_->placement.loads.weights(),
          .takers = std::move(takers),
          .even = even,
          .backups = job_->placement.Backups()};
}

void MovePlanner::Plan(absl::Time now) {
  See(now);
  PlanMoves(now);
  PlanReplicas(now);
}

// Drops a plan that is not possible any more, as shards may have come and gone since the last
// batch, and makes a new one if there is a reason.
void MovePlanner::PlanMoves(absl::Time now) {
  const auto possible = [&](const PlannedMove& move) {
    const v1::PartitionPair* pair = job_->placement.views.PairOf(move.partition);
    const bool paired = move.replica && pair != nullptr && pair->backup() == move.to;
    return !paired && job_->placement.MayTake(move.to, now) &&
           job_->placement.views.members().contains(move.to) &&
           job_->placement.views.current().owners(static_cast<int>(move.partition)) == move.from;
  };
  if (job_->placement.moves.ForgetPlanUnless(possible)) OnGivenUp();
  const std::optional<Balance::Reason> reason = balance_.TakeReason(now);
  if (!reason) return;
  const MoveQuestion question = QuestionOf(reason->even, balance_.takers());
  std::vector<PlannedMove> moves = chief::PlanMoves(question);
  if (reason->automatic && moves.size() > kAutomaticMoves) moves.resize(kAutomaticMoves);
  if (moves.empty()) return balance_.OnCarriedOut();
  if (job_->placement.moves.planned()) pairing_.SpreadAnew();  // The new plan replaces it.
  job_->outbox.Log(LogEvent::Level::kInfo, "partitions are to be moved",
                   {{"because", reason->why}, {"partitions", absl::StrCat(moves.size())}});
  if (job_->replicas() && job_->placement.views.owners_may_stay()) {
    moves = BackedUpFirst(moves, question, job_->options.move_batch);
    pairing_.SpreadAnew();  // Old owners become backups, perhaps in the new owner's zone.
  }
  job_->placement.moves.Plan(std::move(moves), reason->why);
}

ReplicaQuestion MovePlanner::ReplicaQuestionOf() const {
  const v1::View& view = job_->placement.views.current();
  ReplicaQuestion question{.owners = {view.owners().begin(), view.owners().end()},
                           .backups = job_->placement.Backups(),
                           .weights = job_->placement.loads.weights(),
                           .takers = balance_.takers(),
                           .zones = {},
                           .even = pairing_.spreads()};
  for (const auto& [index, shard] : job_->placement.shards.shards()) {
    if (!shard.zone.empty()) question.zones[index] = shard.zone;
  }
  return question;
}

// Plans that balance or empty shards have priority, as they would undo pairs.
void MovePlanner::PlanReplicas(absl::Time now) {
  if (!job_->replicas() || job_->placement.moves.planned()) return;
  if (!pairing_.Due(now) || balance_.AwaitsOthers(now)) return;
  std::vector<PlannedMove> moves = chief::PlanReplicas(ReplicaQuestionOf());
  pairing_.OnPlanned();
  if (moves.empty()) return;
  const size_t unpaired = job_->placement.Unpaired();
  std::string why = "backups are to be spread over the shards";
  if (unpaired > 0) {
    why =
        absl::StrCat(unpaired, unpaired == 1 ? " partition has" : " partitions have", " no backup");
  }
  job_->outbox.Log(LogEvent::Level::kInfo, "partitions are to be given a backup",
                   {{"because", why}, {"partitions", absl::StrCat(moves.size())}});
  job_->placement.moves.Plan(std::move(moves), std::move(why));
}

absl::StatusOr<v1::RebalanceReply> MovePlanner::Rebalance(const v1::RebalanceRequest& request,
                                                          absl::Time now) {
  if (job_->state != v1::JOB_STATE_RUNNING || !job_->takeover.settled() ||
      job_->training.end.begun()) {
    return absl::FailedPreconditionError("the job is not training");
  }
  See(now);
  const MoveQuestion question = QuestionOf(/*even=*/true, balance_.takers());
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
  job_->placement.heard_of_shards = true;
  return reply;
}

void MovePlanner::WatchReplicas(absl::Time now) {
  if (!job_->replicas()) return;
  const size_t unpaired = job_->state == v1::JOB_STATE_RUNNING ? job_->placement.Unpaired() : 0;
  const auto partitions = static_cast<size_t>(job_->placement.views.current().owners_size());
  unpaired_since_ = unpaired > 0 ? std::min(unpaired_since_, now) : absl::InfiniteFuture();
  // If no shard is present at all, the status already says what is waited for.
  const auto& shards = job_->placement.shards.shards();
  const bool any_shard = std::any_of(shards.begin(), shards.end(), [this, now](const auto& shard) {
    return shard.second.present && !job_->placement.hearing.IsSilent(shard.second, now);
  });
  const bool none = unpaired > 0 && unpaired == partitions && pairing_.alone() && any_shard;
  std::string sentence;
  if (none && job_->takeover.settled() && !job_->training.end.begun()) {
    sentence =
        "no partition has a backup, for there are not two shards that could hold one (replicas: "
        "1); the job goes on, and returns to its last checkpoint if a shard is lost";
  } else if (now > unpaired_since_ + kUnpairedIsOdd) {
    sentence =
        absl::StrCat(unpaired, " of ", partitions, " partitions have had no backup for more than ",
                     absl::FormatDuration(kUnpairedIsOdd),
                     "; if their shard is lost, the job returns to its last checkpoint");
  }
  job_->outbox.Warn("replicas", std::move(sentence));
}

}  // namespace capstan::chief
