#include "worker/shell/step.h"

#include <algorithm>
#include <utility>

#include "capstan/base/reuse.h"

namespace capstan::worker {

void StepTable::SwapValues(StepTable& other) {
  rows.swap(other.rows);
  row_versions.swap(other.row_versions);
  row_gradients.swap(other.row_gradients);
  kept_rows.swap(other.kept_rows);
}

void Step::KeepPulled() {
  kept_parameters = parameters;
  for (StepTable& table : tables) table.kept_rows = table.rows;
  keeps_pulled = true;
}

std::shared_ptr<Step> StepPool::Take(std::shared_ptr<const Batch> batch,
                                     absl::Span<const uint32_t> owners) {
  std::shared_ptr<Step> step = TakeFree();
  step->batch = std::move(batch);
  step->marks = {.pull_began = absl::InfinitePast(), .pulled = absl::InfinitePast()};
  step->push_began = absl::InfinitePast();
  step->keeps_pulled = false;
  step->pulled.Clear();
  step->pushed.Clear();
  step->tables.resize(std::max<size_t>(1, map_.tables().size()));
  Deduplicate(*step);
  std::vector<TableKeys> tables;
  for (size_t i = 0; i < map_.tables().size(); ++i) {
    tables.push_back({.table = i, .keys = step->tables[i].keys.unique});
  }
  step->plan.Build(tables, /*dense=*/map_.layout().flat_size() > 0);
  step->plan.Route(owners);
  step->versions.resize(map_.partition_count());
  return step;
}

void StepPool::Deduplicate(Step& step) {
  const Batch& batch = *step.batch;
  step.feature_begin.resize(table_of_feature_.size());
  if (table_of_feature_.empty()) return deduplicator_.Run(batch.keys, step.tables[0].keys);
  for (size_t i = 0; i < step.tables.size(); ++i) {
    gathered_.clear();
    for (size_t feature = 0; feature < table_of_feature_.size(); ++feature) {
      if (table_of_feature_[feature] != i) continue;
      const std::vector<uint64_t>& keys = batch.features[feature].keys;
      step.feature_begin[feature] = gathered_.size();
      gathered_.insert(gathered_.end(), keys.begin(), keys.end());
    }
    if (!batch.negatives.keys.empty() && table_of_feature_[batch.negatives.feature] == i) {
      const std::vector<uint64_t>& keys = batch.negatives.keys;
      step.negatives_begin = gathered_.size();
      gathered_.insert(gathered_.end(), keys.begin(), keys.end());
    }
    deduplicator_.Run(gathered_, step.tables[i].keys);
  }
}

std::shared_ptr<Step> StepPool::TakeFree() {
  std::unique_ptr<Step> step = shelf_->TakeStep();
  if (step == nullptr) step = std::make_unique<Step>(map_);
  return std::shared_ptr<Step>(step.release(), [shelf = shelf_](Step* used) {
    shelf->PutBack(std::unique_ptr<Step>(used));
  });
}

// Gives the step what the room has, and the room what the step has.
void StepPool::Move(Room& room, Step& step) {
  step.parameters.swap(room.parameters);
  step.parameter_gradients.swap(room.gradients);
  step.kept_parameters.swap(room.kept);
  std::swap(step.frozen_of, room.frozen_of);
  room.tables.resize(step.tables.size());
  for (size_t i = 0; i < step.tables.size(); ++i) step.tables[i].SwapValues(room.tables[i]);
}

void StepPool::Lend(Step& step, Timeline timeline) {
  if (!std::exchange(step.has_room, true)) {
    if (std::optional<Room> room = shelf_->TakeRoom()) Move(*room, step);
    step.parameters.resize(map_.layout().flat_size());
    for (size_t i = 0; i < map_.tables().size(); ++i) {
      StepTable& table = step.tables[i];
      const size_t rows = table.keys.unique.size();
      ResizeForReuse(table.rows, rows * map_.tables()[i].dim);
      ResizeForReuse(table.row_versions, rows);
    }
  }
  if (step.frozen_of == timeline || !frozen_.Know(timeline)) return;
  frozen_.Fill(absl::MakeSpan(step.parameters));
  step.frozen_of = timeline;
}

void StepPool::OnPulled(Step& step, Timeline timeline) {
  if (step.frozen_of == timeline) return;
  if (!frozen_.Know(timeline)) frozen_.Learn(timeline, step.parameters);
  step.frozen_of = timeline;
}

std::unique_ptr<Step> StepPool::Shelf::TakeStep() {
  absl::MutexLock lock(&mu_);
  if (steps_.empty()) return nullptr;
  std::unique_ptr<Step> step = std::move(steps_.back());
  steps_.pop_back();
  return step;
}

std::optional<StepPool::Room> StepPool::Shelf::TakeRoom() {
  absl::MutexLock lock(&mu_);
  if (rooms_.empty()) return std::nullopt;
  Room room = std::move(rooms_.back());
  rooms_.pop_back();
  return room;
}

void StepPool::Shelf::PutBack(std::unique_ptr<Step> step) {
  step->batch.reset();
  step->user_code.reset();
  absl::MutexLock lock(&mu_);
  if (std::exchange(step->has_room, false)) Move(rooms_.emplace_back(), *step);
  steps_.push_back(std::move(step));
}

}  // namespace capstan::worker
