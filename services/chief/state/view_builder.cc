#include "chief/state/view_builder.h"

#include <algorithm>
#include <map>

#include "capstan/base/check.h"
#include "capstan/placement/placement.h"

namespace capstan::chief {

ViewBuilder::ViewBuilder(uint64_t term, const v1::JobSpec& spec) {
  view_.mutable_epoch()->set_term(term);
  view_.mutable_epoch()->set_n(1);
  *view_.mutable_dense_update() = spec.dense_update();
  *view_.mutable_sparse_update() = spec.sparse_update();
  view_.set_state(v1::JOB_STATE_PENDING);
}

void ViewBuilder::Inherit(const v1::View& view) {
  view_.set_timeline(view.timeline());
  *view_.mutable_owners() = view.owners();
  *view_.mutable_copies() = view.copies();
  *view_.mutable_shards() = view.shards();
  *view_.mutable_trainers() = view.trainers();
  view_.set_state(view.state());
  CountOwners();
  for (const v1::ShardInfo& shard : view.shards()) members_.insert(shard.index());
  inherited_.assign(view.trainers().begin(), view.trainers().end());
  changed_ = changed_ || view.moves_size() > 0;
}

void ViewBuilder::ForgetTrainers(const std::string& worker) {
  std::erase_if(inherited_,
                [&](const v1::TrainerInfo& trainer) { return trainer.worker() == worker; });
}

void ViewBuilder::MakeMap(uint32_t partitions, const std::set<uint32_t>& shards) {
  ForgetMap();
  const std::vector<uint32_t> places(shards.begin(), shards.end());
  for (uint32_t place : FirstShardMap(partitions, static_cast<uint32_t>(places.size()))) {
    view_.add_owners(places[place]);
  }
  CountOwners();
}

void ViewBuilder::ForgetMap() {
  changed_ = true;
  view_.clear_owners();
  view_.clear_moves();
  view_.clear_copies();
  members_.clear();
  CountOwners();
}

void ViewBuilder::CountOwners() {
  owners_ = {view_.owners().begin(), view_.owners().end()};
  members_.insert(owners_.begin(), owners_.end());
}

void ViewBuilder::SetTimeline(uint64_t timeline) {
  changed_ = true;
  view_.set_timeline(timeline);
  view_.clear_moves();
  view_.clear_copies();
}

void ViewBuilder::AddMember(uint32_t shard) {
  if (members_.insert(shard).second) changed_ = true;
}

void ViewBuilder::RemoveMember(uint32_t shard) {
  CAPSTAN_CHECK(!Owns(shard));
  if (members_.erase(shard) > 0) changed_ = true;
}

void ViewBuilder::RemoveAllButOwners() {
  if (members_ == owners_) return;
  members_ = owners_;
  changed_ = true;
}

void ViewBuilder::SetMoves(const std::vector<v1::PartitionMove>& moves) {
  changed_ = true;
  view_.mutable_moves()->Assign(moves.begin(), moves.end());
  for (v1::PartitionMove& move : *view_.mutable_moves()) move.clear_id();
}

void ViewBuilder::ClearMoves() {
  if (view_.moves().empty()) return;
  changed_ = true;
  view_.clear_moves();
}

void ViewBuilder::CarryOutMoves() {
  changed_ = true;
  std::map<uint32_t, v1::ViewEpoch> copies;
  for (const v1::PartitionCopy& copy : view_.copies()) copies[copy.partition()] = copy.move();
  for (const v1::PartitionMove& move : view_.moves()) {
    view_.set_owners(static_cast<int>(move.partition()), move.to());
    copies[move.partition()] = move.id();
  }
  view_.clear_moves();
  view_.clear_copies();
  for (const auto& [partition, move] : copies) {
    v1::PartitionCopy& copy = *view_.add_copies();
    copy.set_partition(partition);
    *copy.mutable_move() = move;
  }
  CountOwners();
}

void ViewBuilder::ForgetCopies(uint32_t shard) {
  const auto of_shard = [&](const v1::PartitionCopy& copy) {
    return view_.owners(static_cast<int>(copy.partition())) == shard;
  };
  auto& copies = *view_.mutable_copies();
  const auto kept = std::remove_if(copies.begin(), copies.end(), of_shard);
  if (kept == copies.end()) return;
  changed_ = true;
  copies.erase(kept, copies.end());
}

bool ViewBuilder::Update(v1::JobState state, const ShardTable& shards, const Membership& workers) {
  // Most often nothing has changed, and that has to be cheap: it is asked at every heartbeat.
  const bool same =
      !changed_ && view_.state() == state && HasShards(shards) && HasTrainers(workers);
  if (same) return false;
  changed_ = false;
  view_.set_state(state);
  view_.clear_shards();
  ForEachShard(shards, [this](uint32_t index, const Shard& shard) {
    v1::ShardInfo& info = *view_.add_shards();
    info.set_index(index);
    info.set_address(shard.address);
    info.set_incarnation(Raw(shard.incarnation));
    return true;
  });
  view_.clear_trainers();
  for (const v1::TrainerInfo& trainer : inherited_) *view_.add_trainers() = trainer;
  ForEachTrainer(workers, [this](const std::string& worker, const Trainer& trainer) {
    v1::TrainerInfo& info = *view_.add_trainers();
    info.set_trainer(Raw(trainer.id));
    info.set_worker(worker);
    info.set_start_clock(trainer.start_clock);
    return true;
  });
  view_.mutable_epoch()->set_n(view_.epoch().n() + 1);
  for (v1::PartitionMove& move : *view_.mutable_moves()) {
    if (!move.has_id()) *move.mutable_id() = view_.epoch();
  }
  return true;
}

bool ViewBuilder::ForEachShard(const ShardTable& shards,
                               absl::FunctionRef<bool(uint32_t, const Shard&)> visit) const {
  for (const auto& [index, shard] : shards.shards()) {
    if (has_map() && !members_.contains(index)) continue;
    if (!visit(index, shard)) return false;
  }
  return true;
}

bool ViewBuilder::ForEachTrainer(
    const Membership& workers, absl::FunctionRef<bool(const std::string&, const Trainer&)> visit) {
  for (const auto& [name, worker] : workers.live()) {
    for (const Trainer& trainer : worker.trainers) {
      if (trainer.training && !visit(name, trainer)) return false;
    }
  }
  return true;
}

bool ViewBuilder::HasShards(const ShardTable& shards) const {
  int next = 0;
  const bool same = ForEachShard(shards, [&](uint32_t index, const Shard& shard) {
    if (next == view_.shards_size()) return false;
    const v1::ShardInfo& info = view_.shards(next++);
    return info.index() == index && info.incarnation() == Raw(shard.incarnation) &&
           info.address() == shard.address;
  });
  return same && next == view_.shards_size();
}

bool ViewBuilder::HasTrainers(const Membership& workers) const {
  int next = 0;
  const auto is_next = [&](uint64_t id, uint64_t start_clock, const std::string& worker) {
    if (next == view_.trainers_size()) return false;
    const v1::TrainerInfo& info = view_.trainers(next++);
    return info.trainer() == id && info.start_clock() == start_clock && info.worker() == worker;
  };
  for (const v1::TrainerInfo& trainer : inherited_) {
    if (!is_next(trainer.trainer(), trainer.start_clock(), trainer.worker())) return false;
  }
  const bool same = ForEachTrainer(workers, [&](const std::string& worker, const Trainer& trainer) {
    return is_next(Raw(trainer.id), trainer.start_clock, worker);
  });
  return same && next == view_.trainers_size();
}

}  // namespace capstan::chief
