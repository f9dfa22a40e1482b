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
  std::unique_ptr<Step> step;
  if (free_.empty()) {
    step = std::make_unique<Step>(map_);
  } else {
    step = std::move(free_.back());
    free_.pop_back();
  }
  return std::shared_ptr<Step>(step.release(), [this](Step* used) {
    TakeBack(*used);
    free_.emplace_back(used);
  });
}

void StepPool::LendDense(Step& step) {
  const size_t size = map_.layout().flat_size();
  if (step.parameters.size() == size) return;
  if (!free_dense_.empty()) {
    step.parameters = std::move(free_dense_.back().parameters);
    step.parameter_gradients = std::move(free_dense_.back().gradients);
    free_dense_.pop_back();
  }
  step.parameters.resize(size);
}

void StepPool::TakeBack(Step& step) {
  step.batch.reset();
  if (step.parameters.empty()) return;
  free_dense_.push_back({std::move(step.parameters), std::move(step.parameter_gradients)});
  step.parameters.clear();  // A vector that was moved from need not be empty.
  step.parameter_gradients.clear();
}

}  // namespace capstan::worker
