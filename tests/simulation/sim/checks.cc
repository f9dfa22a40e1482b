#include "tests/simulation/sim/checks.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/consistency/generation.h"
#include "tests/simulation/sim/messages.h"

namespace capstan::sim {
namespace {

bool IsAccepted(v1::Outcome outcome) {
  return outcome == v1::OUTCOME_APPLIED || outcome == v1::OUTCOME_QUEUED ||
         outcome == v1::OUTCOME_DROPPED;
}

// The client is through with it.
bool IsSettled(v1::Outcome outcome) {
  return IsAccepted(outcome) || outcome == v1::OUTCOME_UNSPECIFIED ||
         outcome == v1::OUTCOME_STAGED || outcome == v1::OUTCOME_SETTLED;
}

v1::StaleGradients StaleDense(const Job& job) {
  return job.spec().dense_update().stale_gradients();
}

// A weight that belongs to one batch stands at 1 once the batch has been applied; under aggregation
// at its share of the mean: a third, and at a flush a half or all. Elements of tensors, which are
// judged by their partition, may have been scaled; rows never, for nobody else touches them.
bool StandsForAtMostOne(const Job& job, const Cell& cell, float value) {
  if (value == 0 || value == 1) return true;
  if (cell.first >= kDenseKey && StaleDense(job) == v1::STALE_GRADIENTS_SCALE) {
    return value > 0 && value < 1;
  }
  return job.aggregates() && (value == 0.5F || std::abs(value - 1.0F / 3) < 1e-6F);
}

// Of what a push has for one partition.
std::string ShareName(const v1::PushRequest& push, uint32_t partition) {
  return absl::StrCat(push.header().timeline(), ".", partition, " ",
                      push.stream().ShortDebugString(), " ", push.stage().lane(), ".",
                      push.stage().round(), " ", push.stage().generation().ShortDebugString());
}

std::string MovesIn(const v1::View& view) {
  std::string text;
  for (const v1::PartitionMove& move : view.moves()) {
    absl::StrAppend(&text, ", ", move.partition(), move.replica() ? " copied to " : " moves to ",
                    move.to());
  }
  for (const v1::PartitionPair& pair : view.pairs()) {
    absl::StrAppend(&text, ", ", pair.partition(), " backed by ", pair.backup());
  }
  return text;
}

// What is too stale may be left out of tensors.
bool MayBeMissing(const Job& job, const Cell& cell) {
  return cell.first >= kDenseKey && StaleDense(job) == v1::STALE_GRADIENTS_DROP;
}

}  // namespace

Checks::Checks(Cast& cast)
    : cast_(cast), durable_(cast, [this](const std::string& what) { Violate(what); }) {}

void Checks::Violate(const std::string& what) {
  if (!violation_.empty()) return;
  violation_ = what;
  cast_.schedule().Note("BROKEN: ", what);
}

// ---- the chief ----

void Checks::OnView(const v1::View& view) {
  const std::pair<uint64_t, uint64_t> epoch(view.epoch().term(), view.epoch().n());
  cast_.schedule().Note("view ", epoch.first, ".", epoch.second, " timeline ", view.timeline(), " ",
                        v1::JobState_Name(view.state()), ", trainers ", view.trainers_size(),
                        ", owners ", absl::StrJoin(view.owners(), ""), MovesIn(view));
  for (const v1::PartitionCopy& copy : view.copies()) {
    moved_.emplace(copy.move().term(), copy.move().n(), copy.partition());
  }
  for (const v1::PartitionPair& pair : view.pairs()) {
    paired_.insert({pair.partition(), {pair.move().term(), pair.move().n()}});
  }
  if (view.state() == v1::JOB_STATE_COMPLETED) completed_ = true;
  const auto [known, is_new] = views_.try_emplace(epoch, view.SerializeAsString());
  if (!is_new && known->second != view.SerializeAsString()) {
    Violate(absl::StrCat("OneView: epoch ", epoch.first, ".", epoch.second, " has two views"));
  }
  if (known->first != views_.rbegin()->first) return;
  if (view.owners().empty()) return;  // Of a chief that does not know yet where to go on.
  if (view.timeline() < timeline_) Violate("a newer view has an older timeline");
  timeline_ = view.timeline();
  durable_.OnView(view);
}

void Checks::OnHeard(const v1::View& view) {
  const auto known = views_.find({view.epoch().term(), view.epoch().n()});
  if (known == views_.end() || known->second == view.SerializeAsString()) return;
  Violate(absl::StrCat("OneView: ", view.epoch().term(), ".", view.epoch().n(),
                       " was heard of as another view than was published"));
}

void Checks::OnLoadOrdered(const v1::LoadPartitionsRequest& order) {
  const uint64_t timeline = order.header().timeline();
  if (order.has_partial()) {
    partially_recovered_ = true;
    return durable_.OnPartialRecovery(order);
  }
  if (references_.contains(timeline)) return;
  const std::optional<v1::Manifest> base = durable_.OnTimelineBegun(order);
  Reference reference(cast_.job());
  if (base) {
    reference = references_.at(base->timeline());
    const std::string wrong =
        reference.GoBack(*RoundCommitFromProto(base->progress().last_closed()));
    if (!wrong.empty()) Violate(wrong);
  }
  if (!completed_) ++timelines_;
  references_.emplace(timeline, std::move(reference));
}

void Checks::OnLease(const v1::Lease& lease) {
  const Generation generation = GenerationFromProto(lease.generation());
  const std::string of =
      absl::StrCat(v1::LeaseKind_Name(lease.kind()), " epoch ", lease.data_epoch(), " task ",
                   lease.task().index(), " lane ", lease.lane(), " trainer ", lease.trainer());
  cast_.schedule().Note("lease ", generation.term, ".", generation.count, ": ", of, " from ",
                        lease.first_batch());
  if (leases_.try_emplace(generation, of).first->second == of) return;
  Violate(absl::StrCat("generation ", generation.term, ".", generation.count, " is given for ", of,
                       " and for ", leases_[generation]));
}

void Checks::OnLeaseOver(TrainerId, const v1::Generation& generation) {
  over_.insert(GenerationFromProto(generation));
}

// ---- pushes ----

void Checks::OnPushed(const Place& place, const v1::PushRequest& request,
                      const v1::PushReply& reply) {
  TrainerSteps& steps = trainers_[{request.header().timeline(), request.header().trainer()}];
  const auto step = steps.step_of.find({request.stream().stream(), request.stream().seq()});
  const bool counts = request.has_stream() && step != steps.step_of.end();
  for (const v1::PartitionOutcome& outcome : reply.partitions()) {
    const uint32_t partition = outcome.partition();
    const Holder holder{place.server, place.origins.at(partition)};
    OnOutcome(holder, {partition, Part::kDense}, outcome.dense(), request);
    OnOutcome(holder, {partition, Part::kSparse}, outcome.sparse(), request);
    const bool settled = IsSettled(outcome.dense()) && IsSettled(outcome.sparse());
    if (counts && settled) steps.settled[step->second].insert(partition);
  }
}

// Whatever the pull reads of what the step's batch has changed is settled.
bool Checks::HasAll(const TrainerSteps& steps, uint64_t step, const v1::PullRequest& pull) const {
  const auto batch = steps.batch_of.find(step);
  if (batch == steps.batch_of.end()) return false;
  const std::set<uint32_t> changed = PartitionsOf(cast_.job(), batch->second);
  const auto settled = steps.settled.find(step);
  const auto& parts = pull.partitions();
  return std::all_of(parts.begin(), parts.end(), [&](const v1::PartitionPull& part) {
    return !changed.contains(part.partition()) ||
           (settled != steps.settled.end() && settled->second.contains(part.partition()));
  });
}

void Checks::OnOutcome(const Holder& holder, const PartName& name, v1::Outcome outcome,
                       const v1::PushRequest& request) {
  const uint64_t timeline = request.header().timeline();
  const Server& server = holder.server;
  const auto& [partition, part] = name;
  if (!IsAccepted(outcome)) return;
  Copy& copy = copies_[{holder, timeline, partition, part}];
  const uint64_t stream = request.stream().stream();
  const Generation generation = GenerationFromProto(request.stream().generation());
  cast_.schedule().Note("shard ", server.shard, " partition ", partition, " part ",
                        static_cast<int>(part), ": ", v1::Outcome_Name(outcome), " stream ", stream,
                        " seq ", request.stream().seq());
  if (++copy.accepted[{stream, request.stream().seq()}] > 1) {
    Violate(absl::StrCat("NoDuplicate: batch ", request.stream().seq(), " of stream ", stream,
                         " is accepted twice in partition ", partition));
  }
  const Holder fenced = cast_.job().options().replicas > 0 ? holder : Holder();
  Generation& fence = fences_[{fenced, timeline, partition, part}][stream];
  if (generation < fence) {
    Violate(absl::StrCat("FencesHold: partition ", partition, " accepts a lower generation"));
  }
  fence = std::max(fence, generation);
}

// ---- owners and their backups ----

void Checks::OnAcknowledged(const Place& place, const v1::PushRequest& request,
                            const v1::PushReply& reply) {
  for (const v1::PartitionOutcome& outcome : reply.partitions()) {
    const bool counts = outcome.dense() == v1::OUTCOME_STAGED || IsAccepted(outcome.dense()) ||
                        outcome.sparse() == v1::OUTCOME_STAGED || IsAccepted(outcome.sparse());
    const uint32_t partition = outcome.partition();
    if (counts) CheckOwner({place.server, place.origins.at(partition)}, partition, request);
  }
}

void Checks::CheckOwner(const Holder& holder, uint32_t partition, const v1::PushRequest& request) {
  std::vector<Holder>& owners = owners_[{request.header().timeline(), partition}];
  if (std::find(owners.begin(), owners.end(), holder) == owners.end()) {
    // A process that has been replaced may be heard of late.
    const bool late = cast_.job().options().replicas > 0 && !partially_recovered_;
    owners.insert(
        late ? std::find_if(owners.begin(), owners.end(),
                            [&](const Holder& other) { return holder.origin < other.origin; })
             : owners.end(),
        holder);
  }
  if (owners.back() == holder || replayed_.contains(ShareName(request, partition))) return;
  Violate(absl::StrCat("OneOwner: partition ", partition, " is served by shard ",
                       holder.server.shard, " after shard ", owners.back().server.shard,
                       " has taken it over"));
}

void Checks::OnReplayed(const v1::PushRequest& push, uint32_t partition) {
  replayed_.insert(ShareName(push, partition));
}

bool Checks::IsPromoted(const Holder& holder, uint32_t partition) const {
  return paired_.contains({partition, holder.origin});
}

void Checks::OnPullAnswered(const Place& place, uint64_t timeline) {
  if (cast_.job().options().replicas == 0 || partially_recovered_) return;
  for (const auto& [partition, origin] : place.origins) {
    for (const Holder& owner : owners_[{timeline, partition}]) {
      if (owner.origin <= origin || !IsPromoted(owner, partition)) continue;
      Violate(absl::StrCat("OneOwner: shard ", place.server.shard, " answers a pull of partition ",
                           partition, " after shard ", owner.server.shard, " has taken its place"));
    }
  }
}

// ---- the bound of ssp ----

void Checks::OnPullSent(TrainerId trainer, const v1::Generation& generation,
                        const v1::PullRequest& request, const NamedBatch& batch) {
  if (!cast_.job().ssp() || cast_.job().sync() || request.evaluation()) return;
  TrainerSteps& steps = trainers_[{request.header().timeline(), Raw(trainer)}];
  const uint64_t step = request.header().clock();
  steps.step_of[{StreamId::Task(batch.name.epoch, batch.name.task).value, batch.name.seq}] = step;
  steps.batch_of[step] = batch;
  steps.begun[step] = GenerationFromProto(generation);
}

void Checks::OnClockTold(TrainerId trainer, const v1::RequestHeader& header) {
  uint64_t& told = trainers_[{header.timeline(), Raw(trainer)}].told;
  told = std::max(told, header.clock());
}

bool Checks::IsOver(const TrainerSteps& steps, uint64_t step, const v1::PullRequest& pull) const {
  if (step < steps.told) return true;
  if (HasAll(steps, step, pull)) return true;
  const auto begun = steps.begun.find(step);
  if (begun != steps.begun.end()) return over_.contains(begun->second);
  // A trainer that left the quorum and joined again skips steps, perhaps before this shard has the
  // view that says so.
  return !steps.begun.empty() && steps.begun.rbegin()->first > step;
}

void Checks::OnPullServed(uint32_t shard, const v1::View& view, const v1::PullRequest& request) {
  if (!cast_.job().ssp() || cast_.job().sync() || request.evaluation()) return;
  const uint64_t bound = cast_.job().options().staleness;
  for (const v1::TrainerInfo& trainer : view.trainers()) {
    uint64_t clock = trainer.start_clock();
    const auto steps = trainers_.find({request.header().timeline(), trainer.trainer()});
    while (steps != trainers_.end() && IsOver(steps->second, clock, request)) ++clock;
    if (request.header().clock() <= clock + bound) continue;
    Violate(absl::StrCat("BoundHolds: shard ", shard, " answers a pull for step ",
                         request.header().clock(), " while trainer ", trainer.trainer(),
                         " has finished ", clock));
  }
}

// ---- rounds ----

void Checks::OnRoundCommit(uint64_t timeline, const RoundCommit& set) {
  if (set.round == 0) return;
  if (std::string wrong = references_.at(timeline).Close(set); !wrong.empty()) Violate(wrong);
}

void Checks::OnPulled(const v1::Lease& lease, const v1::PullRequest& request, const Cells& pulled) {
  if (!cast_.job().determined() || lease.kind() != v1::LEASE_KIND_LANE) return;
  const Cells& expected = references_.at(lease.timeline()).Before(request.round());
  for (const auto& [cell, value] : pulled) {
    if (expected.at(cell) == value) continue;
    return Violate(absl::StrCat("PullExact: a pull for round ", request.round(), " reads ", value,
                                " in ", cell.first, ".", cell.second, ", not ", expected.at(cell)));
  }
}

// ---- the oracle ----

// A row that nobody has pushed has its initial value, and is read like any other.
void Checks::CheckAllRead(const Cells& cells, const std::set<uint32_t>& gone) {
  for (const NamedBatch& batch : cast_.job().AllBatches()) {
    for (const auto& [cell, value] : cast_.job().Touched(batch)) {
      const uint32_t partition = cast_.job().PartitionOf(cell);
      if (cells.contains(cell) || gone.contains(partition)) continue;
      return Violate(absl::StrCat("EndExact: nobody tells ", cell.first, ".", cell.second,
                                  " of partition ", partition, ", which batch ", batch.name.epoch,
                                  ".", batch.name.task, ".", batch.name.seq, " has trained; ",
                                  cells.size(), " others are told"));
    }
  }
}

void Checks::OnCells(const Cells& cells, bool at_end, const std::set<uint32_t>& gone) {
  if (at_end) CheckAllRead(cells, gone);
  if (!violation_.empty()) return;
  for (const NamedBatch& batch : cast_.job().AllBatches()) {
    for (const Cell& cell : cast_.job().CountersOf(batch)) {
      const auto value = cells.find(cell);
      if (value == cells.end()) continue;
      if (!StandsForAtMostOne(cast_.job(), cell, value->second)) {
        return Violate(absl::StrCat("NoDuplicate: batch ", batch.name.epoch, ".", batch.name.task,
                                    ".", batch.name.seq, " stands at ", value->second, " in ",
                                    cell.first));
      }
      // Where the steps end, the bits below say what is there.
      const bool all_there = at_end && cast_.job().options().max_steps == 0;
      if (all_there && value->second == 0 && !MayBeMissing(cast_.job(), cell)) {
        return Violate(absl::StrCat("EndExact: batch ", batch.name.epoch, ".", batch.name.task, ".",
                                    batch.name.seq, " is missing in ", cell.first));
      }
    }
  }
  if (!at_end || !cast_.job().determined()) return;
  const Reference& reference = references_.at(timeline_);
  const Cells& expected = reference.Before(reference.rounds() + 1);
  for (const auto& [cell, value] : cells) {
    if (expected.at(cell) != value) {
      return Violate(absl::StrCat("EndExact: ", cell.first, ".", cell.second, " is ", value,
                                  ", the rounds come to ", expected.at(cell)));
    }
  }
  if (cast_.job().options().policy != Policy::kSync) return;
  const Cells undisturbed = Reference::Undisturbed(cast_.job());
  if (expected != undisturbed) Violate("EndExact: not what an undisturbed job comes to");
}

void Checks::OnEndOfPartial(const Cells& cells, uint64_t told_lost) {
  OnCells(cells, /*at_end=*/false);
  CheckAllRead(cells, /*gone=*/{});
  uint64_t missing = 0;
  for (const NamedBatch& batch : cast_.job().AllBatches()) {
    std::set<std::pair<uint32_t, bool>> parts;  // Partition, whether it is the dense one.
    for (const Cell& cell : cast_.job().CountersOf(batch)) {
      const auto value = cells.find(cell);
      if (value != cells.end() && value->second == 0 && !MayBeMissing(cast_.job(), cell)) {
        parts.emplace(cast_.job().PartitionOf(cell), cell.first >= kDenseKey);
      }
    }
    missing += parts.size();
  }
  if (missing > told_lost) {
    Violate(absl::StrCat("LossIsTold: ", missing, " batches are missing, ", told_lost,
                         " are said to be lost"));
  }
  if (!partially_recovered_ && told_lost > 0) {
    Violate(absl::StrCat("LossIsTold: ", told_lost, " batches are said to be lost, by nobody"));
  }
}

}  // namespace capstan::sim
