// The chief of a simulated world: leases, members, closes and the end of the job.
#include <algorithm>

#include "tests/simulation/world.h"

namespace capstan::simulation {

void World::Grant(size_t work, uint64_t first_batch) {
  const bool again = options_->lie == Lie::kReusedGeneration && NewestGeneration(work).count > 0;
  const Generation generation = again ? NewestGeneration(work) : Generation{1, next_generation_++};
  worker::HolderOptions common;
  common.generation = generation;
  common.shard_count = options_->shards;
  common.ssp = options_->ssp();
  common.read_ahead = 0;

  uint64_t start_clock = ~uint64_t{0};
  for (const Holder& holder : holders_) {
    if (holder.alive) start_clock = std::min(start_clock, holder.clock.clock());
  }
  if (start_clock == ~uint64_t{0}) start_clock = 0;

  std::unique_ptr<worker::HolderMachine> machine;
  if (options_->sync()) {
    machine =
        worker::NewLaneHolder({common, static_cast<LaneIndex>(work), options_->has_stream(), {}});
  } else {
    machine =
        worker::NewTaskHolder({common, StreamOf(work), first_batch, false, options_->push_window});
  }
  const size_t index = holders_.size();
  holders_.push_back(Holder{work,
                            generation,
                            std::move(machine),
                            worker::MemberClock(start_clock),
                            start_clock,
                            absl::UnixEpoch(),
                            true,
                            std::nullopt,
                            0,
                            {}});
  works_[work].holder = index;
  works_[work].reported = std::max(works_[work].reported, first_batch);
  RefreshQuorum();
  Feed(index, worker::Start{});
}

Generation World::NewestGeneration(size_t work) const {
  Generation newest;
  for (const Holder& holder : holders_) {
    if (holder.work == work) newest = std::max(newest, holder.generation);
  }
  return newest;
}

// The members are the holders that the chief knows to be alive; a zombie is not among them.
std::vector<ps::QuorumMember> World::Members() const {
  std::vector<ps::QuorumMember> members;
  for (const Work& work : works_) {
    if (!work.holder) continue;
    const Holder& holder = holders_[*work.holder];
    members.push_back({MemberId{*work.holder + 1}, holder.start_clock});
  }
  return members;
}

void World::RefreshQuorum() {
  if (!options_->ssp()) return;
  for (Shard& shard : shards_) {
    shard.quorum_stale = options_->lie != Lie::kDeafClocks || shard.quorum.empty();
  }
}

bool World::AllWorkDone() const {
  return std::all_of(works_.begin(), works_.end(), [](const Work& work) { return work.done; });
}

void World::AddChiefSteps(std::vector<Step>& steps) const {
  const bool releases = budgets_.releases < options_->releases;
  for (size_t i = 0; i < works_.size(); ++i) {
    const Work& work = works_[i];
    if (work.done || (work.holder && !releases)) continue;
    const Step::Kind kind = work.holder ? Step::Kind::kRelease : Step::Kind::kLease;
    // The chief may know of all that was settled, or of less.
    const uint64_t known = options_->sync() ? work.reported : work.progress;
    for (uint64_t first = work.reported; first <= known; ++first) steps.push_back({kind, i, first});
  }
  if (boundary_ == Boundary::kReached) steps.push_back({Step::Kind::kBoundary});
  if (boundary_ == Boundary::kNone && budgets_.holds < options_->holds) {
    steps.push_back({Step::Kind::kHold});
  }
  for (size_t s = 0; s < shards_.size(); ++s) {
    const Shard& shard = shards_[s];
    if (shard.quorum_stale) steps.push_back({Step::Kind::kSetQuorum, s});
    for (size_t i = 0; i < works_.size(); ++i) {
      if (works_[i].done && options_->has_stream() && !shard.closed.contains(i)) {
        steps.push_back({Step::Kind::kClose, s, i});
      }
    }
    if (AllWorkDone() && !shard.finished) steps.push_back({Step::Kind::kFinish, s});
  }
}

// BoundaryHolds: at a boundary every partition can be brought to the keeper's last round, and none
// is beyond.
void World::AtBoundary() {
  const ClosedSet last = keeper_->last_closed();
  if (last.round != boundary_round_)
    Violate("BoundaryHolds: a round has closed behind the boundary");
  for (Shard& shard : shards_) {
    shard.log.Learn(last);
    for (Partition& partition : shard.partitions) {
      CatchUp(shard, partition);
      if (partition.machine.round() != last.round) {
        Violate("BoundaryHolds: a partition is not at the boundary's round");
      }
    }
  }
  boundary_ = Boundary::kNone;
  AnswerOpens(keeper_->Release());
}

void World::Close(Shard& shard, size_t work) {
  shard.closed.insert(work);
  for (Partition& partition : shard.partitions) {
    partition.machine.CloseStream(Timeline{1}, StreamOf(work), options_->lengths[work]);
  }
}

void World::Finish(Shard& shard) {
  shard.finished = true;
  if (keeper_ && options_->lie != Lie::kNoCommit) {
    shard.log.Learn(keeper_->last_closed());
    for (Partition& partition : shard.partitions) CatchUp(shard, partition);
  }
  if (options_->lie == Lie::kNoFlush) return;
  for (Partition& partition : shard.partitions) Note(partition, partition.machine.Flush());
}

bool World::done() const {
  return AllWorkDone() && std::all_of(shards_.begin(), shards_.end(), [this](const Shard& shard) {
           return shard.finished &&
                  (!options_->has_stream() || shard.closed.size() == works_.size());
         });
}

}  // namespace capstan::simulation
