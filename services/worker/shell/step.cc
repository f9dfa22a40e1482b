#include "worker/shell/step.h"

#include <utility>

namespace capstan::worker {

std::shared_ptr<Step> StepPool::Take(std::shared_ptr<const Batch> batch,
                                     absl::Span<const uint32_t> owners) {
  std::shared_ptr<Step> step = TakeFree();
  step->batch = std::move(batch);
  step->marks = {.pull_began = absl::InfinitePast(), .pulled = absl::InfinitePast()};
  step->push_began = absl::InfinitePast();
  deduplicator_.Run(step->batch->keys, step->keys);
  std::vector<TableKeys> tables;
  if (!map_.tables().empty()) {
    tables.push_back({.table = 0, .keys = step->keys.unique});
    step->rows.resize(step->keys.unique.size() * map_.tables()[0].dim);
    step->row_versions.resize(step->keys.unique.size());
  }
  step->plan.Build(tables, /*dense=*/map_.layout().flat_size() > 0);
  step->plan.Route(owners);
  step->versions.resize(map_.partition_count());
  return step;
}

std::shared_ptr<Step> StepPool::TakeFree() {
  std::unique_ptr<Step> step = shelf_->TakeStep();
  if (step == nullptr) step = std::make_unique<Step>(map_);
  return std::shared_ptr<Step>(step.release(), [shelf = shelf_](Step* used) {
    shelf->PutBack(std::unique_ptr<Step>(used));
  });
}

void StepPool::LendDense(Step& step) {
  const size_t size = map_.layout().flat_size();
  if (step.parameters.size() == size) return;
  if (std::optional<Dense> dense = shelf_->TakeDense()) {
    step.parameters = std::move(dense->parameters);
    step.parameter_gradients = std::move(dense->gradients);
  }
  step.parameters.resize(size);
}

std::unique_ptr<Step> StepPool::Shelf::TakeStep() {
  absl::MutexLock lock(&mu_);
  if (steps_.empty()) return nullptr;
  std::unique_ptr<Step> step = std::move(steps_.back());
  steps_.pop_back();
  return step;
}

std::optional<StepPool::Dense> StepPool::Shelf::TakeDense() {
  absl::MutexLock lock(&mu_);
  if (dense_.empty()) return std::nullopt;
  Dense dense = std::move(dense_.back());
  dense_.pop_back();
  return dense;
}

void StepPool::Shelf::PutBack(std::unique_ptr<Step> step) {
  step->batch.reset();
  step->user_code.reset();
  absl::MutexLock lock(&mu_);
  if (!step->parameters.empty()) {
    dense_.push_back({std::move(step->parameters), std::move(step->parameter_gradients)});
    step->parameters.clear();  // A vector that was moved from need not be empty.
    step->parameter_gradients.clear();
  }
  steps_.push_back(std::move(step));
}

}  // namespace capstan::worker
