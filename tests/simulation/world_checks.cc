// The invariants of a simulated world.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/consistency/decisions.h"
#include "tests/simulation/world.h"

namespace capstan::simulation {

ps::GradientHandle SmallWorld::Gradient::handle() const {
  return ps::GradientHandle{(uint64_t{runner} << 32) | (computation << 16) | batch};
}

SmallWorld::Gradient SmallWorld::Gradient::Of(ps::GradientHandle handle) {
  const auto raw = static_cast<uint64_t>(handle);
  return {raw >> 32, raw & 0xFFFF, (raw >> 16) & 0xFFFF};
}

bool SmallWorld::Has(Part part) const {
  return part == Part::kDense ? options_->dense.has_value() : options_->sparse.has_value();
}

bool SmallWorld::Touches(size_t work, uint64_t batch, size_t partition) const {
  return !options_->gaps || batch == 0 || batch + 1 == options_->lengths[work] ||
         (work + batch + partition) % 2 == 0;
}

std::vector<ShardIndex> SmallWorld::ShardsOf(size_t work, uint64_t batch) const {
  std::vector<ShardIndex> shards;
  for (size_t s = 0; s < shards_.size(); ++s) {
    if (!options_->gaps) {
      shards.push_back(static_cast<ShardIndex>(s));
      continue;
    }
    for (const Partition& partition : shards_[s].partitions) {
      if (!Touches(work, batch, partition.index)) continue;
      shards.push_back(static_cast<ShardIndex>(s));
      break;
    }
  }
  return shards;
}

// NoDuplicate: no gradient is applied twice.
void SmallWorld::NoteApplied(Partition& partition, Part part, ps::GradientHandle handle) {
  const Gradient gradient = Gradient::Of(handle);
  const Record record{runners_[gradient.runner].work, gradient.batch};
  if (++partition.applied[static_cast<size_t>(part)][record] > 1) {
    Violate(absl::StrCat("NoDuplicate: batch ", record.second, " of ", record.first,
                         " is applied twice"));
  }
}

void SmallWorld::Note(Partition& partition, const ps::Decision& decision) {
  for (const ps::Addition& addition : decision.additions) {
    NoteApplied(partition, addition.part, addition.handle);
    partition.rounds[static_cast<size_t>(addition.part)][partition.machine.round() + 1].push_back(
        {addition.handle, addition.weight});
  }
  for (const ps::Update& update : decision.updates) {
    for (const ps::Contribution& contribution : update.contributions) {
      NoteApplied(partition, update.part, contribution.handle);
    }
    if (update.round == 0) continue;
    const auto part = static_cast<size_t>(update.part);
    std::vector<ps::Contribution>& round = partition.rounds[part][update.round];
    if (round.size() != update.added) Violate("AppliedIsCounted: a sum is not what was added");
    round.insert(round.end(), update.contributions.begin(), update.contributions.end());
    partition.scales[part][update.round] = update.scale;
  }
}

// FencesHold, and NoDuplicate of what has been promised.
void SmallWorld::CheckAccepted(Partition& partition, Part part, const worker::SendPush& push,
                               size_t runner) {
  const auto i = static_cast<size_t>(part);
  const size_t work = runners_[runner].work;
  Generation& fence = partition.fences[i][work];
  if (push.stream->generation < fence) {
    Violate("FencesHold: a gradient of a lower generation is accepted");
  }
  fence = std::max(fence, push.stream->generation);
  if (++partition.accepted[i][{work, push.batch}] > 1) {
    Violate("NoDuplicate: a gradient is accepted twice");
  }
}

uint64_t SmallWorld::CursorAt(size_t lane, uint64_t round) const {
  uint64_t cursor = 0;
  for (const auto& [number, set] : round_commits_) {
    if (number >= round) break;
    cursor += static_cast<uint64_t>(
        std::count_if(set.lanes.begin(), set.lanes.end(), [lane](const ClosedLane& closed) {
          return static_cast<size_t>(Raw(closed.lane)) == lane;
        }));
  }
  return cursor;
}

// RoundSize: a round holds max(1, D - b) to D of the D lanes that have data.
void SmallWorld::NoteClosed() {
  if (!coordinator_) return;
  const RoundCommit& set = coordinator_->last_closed();
  if (set.round == 0 || round_commits_.contains(set.round)) return;
  round_commits_[set.round] = set;
  int with_data = 0;
  for (size_t lane = 0; lane < works_.size(); ++lane) {
    with_data += CursorAt(lane, set.round) < options_->lengths[lane] ? 1 : 0;
  }
  const v1::UpdatePolicy& policy =
      options_->dense && IsSync(*options_->dense) ? *options_->dense : *options_->sparse;
  const int size = static_cast<int>(set.lanes.size());
  if (size > with_data ||
      size < ReportsToClose(with_data, static_cast<int>(policy.backup_workers()))) {
    Violate(absl::StrCat("RoundSize: round ", set.round, " closes with ", size, " of ", with_data,
                         " lanes that have data"));
  }
  for (const ClosedLane& lane : set.lanes) {
    const auto index = static_cast<size_t>(Raw(lane.lane));
    if (CursorAt(index, set.round) >= options_->lengths[index]) {
      Violate("RoundSize: a lane without data is counted");
    }
  }
}

// AppliedIsCounted: what a partition applied in a round is what the coordinator counted, of the
// right batch and generation, in lane order, by examples. OneGradient: every partition applied the
// same computation of it.
void SmallWorld::CheckRound(const Partition& partition, uint64_t round) {
  const RoundCommit& set = round_commits_.at(round);
  const double scale = RoundScale(ExamplesOf(set), /*batch_size=*/1, /*sum_loss=*/false);
  for (size_t i = 0; i < kParts; ++i) {
    if (!Has(static_cast<Part>(i)) || !partition.machine.IsSync(static_cast<Part>(i))) continue;
    const auto found = partition.rounds[i].find(round);
    auto applied =
        found == partition.rounds[i].end() ? std::vector<ps::Contribution>{} : found->second;
    size_t next = 0;
    for (const ClosedLane& lane : set.lanes) {
      const auto index = static_cast<size_t>(Raw(lane.lane));
      const uint64_t batch = CursorAt(index, round);
      if (!Touches(index, batch, partition.index)) continue;
      if (next == applied.size()) return Violate("AppliedIsCounted: a lane is missing in a round");
      const ps::Contribution& contribution = applied[next++];
      const Gradient gradient = Gradient::Of(contribution.handle);
      const Runner& runner = runners_[gradient.runner];
      if (runner.work != index || gradient.batch != batch || runner.generation != lane.generation) {
        return Violate(
            "AppliedIsCounted: a round holds another gradient than the coordinator counted");
      }
      if (contribution.weight != static_cast<double>(index + 1) ||
          partition.scales[i].at(round) != scale) {
        return Violate("a lane does not weigh as its examples do");
      }
      const auto handle = static_cast<uint64_t>(contribution.handle);
      if (computed_.try_emplace({round, index}, handle).first->second != handle) {
        return Violate("OneGradient: a round holds two computations of one lane");
      }
    }
    if (next != applied.size()) return Violate("AppliedIsCounted: a lane too many in a round");
  }
}

// A pull for step n is answered only if every trainer has pushed the steps below n - bound here.
void SmallWorld::CheckBound(const Shard& shard, const worker::SendPull& pull) {
  if (!options_->ssp() || options_->sync()) return;
  const v1::UpdatePolicy& policy =
      options_->sparse && IsSsp(*options_->sparse) ? *options_->sparse : *options_->dense;
  for (const ps::QuorumTrainer& trainer : shard.quorum) {
    const size_t runner = static_cast<size_t>(Raw(trainer.trainer)) - 1;
    const auto steps = shard.carried_out.find(runner);
    uint64_t clock = trainer.start_clock;
    while (steps != shard.carried_out.end() && steps->second.contains(clock)) ++clock;
    if (pull.clock > clock + policy.staleness()) {
      Violate(absl::StrCat("BoundHolds: a pull for step ", pull.clock, " is answered while runner ",
                           runner, " has finished ", clock));
    }
  }
}

// EndExact: at the end every batch is applied once in every partition that it touches.
void SmallWorld::CheckEnd() {
  for (const Shard& shard : shards_) {
    for (const Partition& partition : shard.partitions) CheckHolds(partition);
  }
}

void SmallWorld::CheckHolds(const Partition& partition) {
  for (size_t i = 0; i < kParts; ++i) {
    if (!Has(static_cast<Part>(i))) continue;
    for (size_t work = 0; work < works_.size(); ++work) {
      for (uint64_t batch = 0; batch < options_->lengths[work]; ++batch) {
        if (!Touches(work, batch, partition.index)) continue;
        if (partition.applied[i].contains({work, batch})) continue;
        return Violate(absl::StrCat("EndExact: batch ", batch, " of ", work,
                                    " is missing in partition ", partition.index));
      }
    }
  }
}

}  // namespace capstan::simulation
