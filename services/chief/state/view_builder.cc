#include "chief/state/view_builder.h"

#include <utility>

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
  shards_ = static_cast<uint32_t>(view.shards_size());
  *view_.mutable_shards() = view.shards();
  *view_.mutable_trainers() = view.trainers();
  view_.set_state(view.state());
  inherited_.assign(view.trainers().begin(), view.trainers().end());
}

void ViewBuilder::ForgetTrainers(const std::string& worker) {
  std::erase_if(inherited_,
                [&](const v1::TrainerInfo& trainer) { return trainer.worker() == worker; });
}

void ViewBuilder::MakeMap(uint32_t partitions, uint32_t shards) {
  ForgetMap();
  shards_ = shards;
  for (uint32_t owner : FirstShardMap(partitions, shards)) view_.add_owners(owner);
}

void ViewBuilder::ForgetMap() {
  changed_ = true;
  view_.clear_owners();
}

void ViewBuilder::SetTimeline(uint64_t timeline) {
  changed_ = true;
  view_.set_timeline(timeline);
}

bool ViewBuilder::Update(v1::JobState state, const ShardTable& shards, const Membership& workers) {
  v1::View next = view_;
  next.set_state(state);
  next.clear_shards();
  for (const auto& [index, shard] : shards.shards()) {
    if (has_map() && index >= shards_) continue;
    v1::ShardInfo& info = *next.add_shards();
    info.set_index(index);
    info.set_address(shard.address);
    info.set_incarnation(Raw(shard.incarnation));
  }
  next.clear_trainers();
  for (const v1::TrainerInfo& trainer : inherited_) *next.add_trainers() = trainer;
  for (const auto& [name, worker] : workers.live()) {
    for (const Trainer& trainer : worker.trainers) {
      if (!trainer.training) continue;
      v1::TrainerInfo& info = *next.add_trainers();
      info.set_trainer(Raw(trainer.id));
      info.set_worker(name);
      info.set_start_clock(trainer.start_clock);
    }
  }
  if (!changed_ && next.SerializeAsString() == view_.SerializeAsString()) return false;
  changed_ = false;
  next.mutable_epoch()->set_n(view_.epoch().n() + 1);
  view_ = std::move(next);
  return true;
}

}  // namespace capstan::chief
