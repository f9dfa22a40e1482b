#include "worker/step.h"

#include <utility>

namespace capstan::worker {

std::shared_ptr<Step> StepPool::Take(std::shared_ptr<const Batch> batch,
                                     absl::Span<const uint32_t> owners) {
  std::shared_ptr<Step> step = TakeFree();
  step->batch = std::move(batch);
  step->pull_began = absl::InfinitePast();
  step->push_began = absl::InfinitePast();
  deduplicator_.Run(step->batch->keys, step->keys);
  std::vector<TableKeys> tables;
  if (!map_.tables().empty()) {
    tables.push_back({.table = 0, .keys = step->keys.unique});
    step->rows.resize(step->keys.unique.size() * map_.tables()[0].dim);
  }
  step->plan.Build(tables, /*dense=*/map_.layout().flat_size() > 0);
  step->plan.Route(owners);
  step->parameters.resize(map_.layout().flat_size());
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
    used->batch.reset();
    free_.emplace_back(used);
  });
}

}  // namespace capstan::worker
