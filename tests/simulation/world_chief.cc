// The chief of a simulated world: leases, trainers, closes and the end of the job.
#include <algorithm>

#include "tests/simulation/world.h"

namespace capstan::simulation {

void SmallWorld::Grant(size_t work, uint64_t first_batch) {
  const bool again = options_->lie == Lie::kReusedGeneration && NewestGeneration(work).count > 0;
  const Generation generation = again ? NewestGeneration(work) : Generation{1, next_generation_++};
  worker::RunnerOptions common;
  common.generation = generation;
  common.shards.clear();
  for (int i = 0; i < options_->shards; ++i) common.shards.push_back(static_cast<ShardIndex>(i));
  common.ssp = options_->ssp();
  common.read_ahead = 0;

  uint64_t start_clock = ~uint64_t{0};
  for (const Runner& runner : runners_) {
    if (runner.alive) start_clock = std::min(start_clock, runner.clock.clock());
  }
  if (start_clock == ~uint64_t{0}) start_clock = 0;

  std::unique_ptr<worker::RunnerMachine> machine;
  if (options_->sync()) {
    machine =
        worker::NewLaneRunner({common, static_cast<LaneIndex>(work), options_->has_stream(), {}});
  } else {
    machine =
        worker::NewTaskRunner({common, StreamOf(work), first_batch, false, options_->push_window});
  }
  const size_t index = runners_.size();
  runners_.push_back(Runner{work,
                            generation,
                            OwnMachine(std::move(machine)),
                            worker::TrainerClock(start_clock),
                            start_clock,
                            absl::UnixEpoch(),
                            true,
                            {},
                            0,
                            {}});
  works_[work].runner = index;
  works_[work].reported = std::max(works_[work].reported, first_batch);
  RefreshQuorum();
  Feed(index, worker::Start{});
}

Generation SmallWorld::NewestGeneration(size_t work) const {
  Generation newest;
  for (const Runner& runner : runners_) {
    if (runner.work == work) newest = std::max(newest, runner.generation);
  }
  return newest;
}

// The trainers are the runners that the chief knows to be alive; a zombie is not among them.
std::vector<ps::QuorumTrainer> SmallWorld::Trainers() const {
  std::vector<ps::QuorumTrainer> trainers;
  for (const Work& work : works_) {
    if (!work.runner) continue;
    const Runner& runner = runners_[*work.runner];
    trainers.push_back({TrainerId{*work.runner + 1}, runner.start_clock});
  }
  return trainers;
}

void SmallWorld::RefreshQuorum() {
  if (!options_->ssp()) return;
  for (size_t s = 0; s < shards_.size(); ++s) {
    Shard& shard = shards_.Edit(s);
    shard.quorum_stale = options_->lie != Lie::kDeafClocks || shard.quorum.empty();
  }
}

bool SmallWorld::AllWorkDone() const {
  return std::all_of(works_.begin(), works_.end(), [](const Work& work) { return work.done; });
}

void SmallWorld::AddChiefSteps(std::vector<Step>& steps) const {
  const bool releases = budgets_.releases < options_->releases;
  for (size_t i = 0; i < works_.size(); ++i) {
    const Work& work = works_[i];
    if (work.done || (work.runner && !releases)) continue;
    const Step::Kind kind = work.runner ? Step::Kind::kRelease : Step::Kind::kLease;
    // The chief may know of all that was settled, or of less.
    const uint64_t known = options_->sync() ? work.reported : work.progress;
    for (uint64_t first = work.reported; first <= known; ++first) steps.push_back({kind, i, first});
  }
  if (barrier_ == Barrier::kReached) steps.push_back({Step::Kind::kBarrier});
  if (barrier_ == Barrier::kNone && budgets_.holds < options_->holds) {
    steps.push_back({Step::Kind::kHold});
  }
  for (size_t s = 0; s < shards_.size(); ++s) {
    const Shard& shard = shards_[s];
    if (options_->news && coordinator_->HasNews(Told(shard))) {
      steps.push_back({Step::Kind::kNews, s});
    }
    if (shard.quorum_stale) steps.push_back({Step::Kind::kSetQuorum, s});
    for (size_t i = 0; i < works_.size(); ++i) {
      if (works_[i].done && options_->has_stream() && !shard.closed.contains(i)) {
        steps.push_back({Step::Kind::kClose, s, i});
      }
    }
    if (AllWorkDone() && !shard.finished) steps.push_back({Step::Kind::kFinish, s});
  }
}

// BarrierHolds: at a barrier every partition can be brought to the coordinator's last round, and
// none is beyond.
void SmallWorld::AtBarrier() {
  const RoundCommit last = coordinator_->last_closed();
  if (last.round != barrier_round_) Violate("BarrierHolds: a round has closed behind the barrier");
  for (size_t s = 0; s < shards_.size(); ++s) {
    Shard& shard = shards_.Edit(s);
    shard.log.Learn(last);
    for (Partition& partition : shard.partitions) {
      CatchUp(shard, partition);
      if (partition.machine.round() != last.round) {
        Violate("BarrierHolds: a partition is not at the barrier's round");
      }
    }
  }
  barrier_ = Barrier::kNone;
  AnswerOpens(coordinator_->Release());
}

void SmallWorld::Close(Shard& shard, size_t work) {
  shard.closed.insert(work);
  for (Partition& partition : shard.partitions) {
    partition.machine.CloseStream(Timeline{1}, StreamOf(work), options_->lengths[work]);
  }
}

void SmallWorld::Finish(Shard& shard) {
  shard.finished = true;
  if (coordinator_ && options_->lie != Lie::kNoCommit) {
    shard.log.Learn(coordinator_->last_closed());
    for (Partition& partition : shard.partitions) CatchUp(shard, partition);
  }
  if (options_->lie == Lie::kNoFlush) return;
  for (Partition& partition : shard.partitions) Note(partition, partition.machine.Flush());
}

bool SmallWorld::done() const {
  return AllWorkDone() && std::all_of(shards_.begin(), shards_.end(), [this](const Shard& shard) {
           return shard.finished &&
                  (!options_->has_stream() || shard.closed.size() == works_.size());
         });
}

}  // namespace capstan::simulation
