#include "capstan/store/dense_blocks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/base/status.h"
#include "capstan/optim/schedule.h"
#include "capstan/optim/vector_math.h"
#include "capstan/store/initializer.h"

namespace capstan {

absl::StatusOr<std::unique_ptr<DenseBlocks>> DenseBlocks::Create(const v1::JobSpec& job,
                                                                 const DenseLayout& layout,
                                                                 PartitionIndex partition) {
  std::unique_ptr<DenseBlocks> blocks(new DenseBlocks(job.seed()));
  for (BlockId id : layout.blocks_of(partition)) {
    const Block& block = layout.block(id);
    CAPSTAN_RETURN_IF_ERROR(blocks->Add(block, job.tensors(block.tensor)));
  }
  return blocks;
}

absl::Status DenseBlocks::Add(const Block& block, const v1::TensorSpec& spec) {
  std::unique_ptr<Tensor>& tensor = tensors_[block.tensor];
  if (tensor == nullptr) {
    CAPSTAN_RETURN_IF_ERROR(CheckInitializer(spec.initializer()));
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Optimizer> optimizer, MakeOptimizer(spec.optimizer()));
    tensor = std::make_unique<Tensor>(Tensor{spec, std::move(optimizer)});
  }
  Stored stored{.tensor = tensor.get(), .length = block.length};
  stored.state.resize(block.length + tensor->optimizer->SlotCount(block.length));
  const InitialPlace place{seed_, HashText(spec.name()), block.offset};
  FillInitial(spec.initializer(), place, stored.state.data(), block.length);
  tensor->optimizer->Initialize(stored.parameters(), spec.optimizer().learning_rate());
  places_[block.id] = stored_.size();
  blocks_.push_back(block);
  stored_.push_back(std::move(stored));
  return absl::OkStatus();
}

const Block* DenseBlocks::Find(BlockId id) const {
  const auto place = places_.find(id);
  return place == places_.end() ? nullptr : &blocks_[place->second];
}

absl::Span<const float> DenseBlocks::Weights(BlockId id) const {
  return State(id).first(stored(id).length);
}

void DenseBlocks::Apply(BlockId id, absl::Span<const BlockGradient> gradients,
                        const UpdateContext& context) {
  Stored& block = stored(id);
  if (block.wanted) KeepImage(block);
  block.changed = true;
  const float rate = LearningRate(block.tensor->spec.optimizer(), context.progress_examples);
  block.tensor->optimizer->Apply(block.parameters(), Sum(block, gradients, context), rate);
}

// Returns the values of the only gradient themselves if there is nothing to add, weigh, scale or
// compensate.
const void* DenseBlocks::Sum(const Stored& block, absl::Span<const BlockGradient> gradients,
                             const UpdateContext& context) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    const BlockGradient& gradient = gradients[i];
    const void* values = gradient.values.at(0);
    if (context.compensate_lambda != 0 && !gradient.pulled.empty()) {
      compensated_.resize(block.length);
      Compensate({.gradient = values,
                  .pulled = gradient.pulled.at(0),
                  .now = block.state.data(),
                  .lambda = context.compensate_lambda},
                 compensated_.data(), block.length);
      values = compensated_.data();
    }
    if (gradients.size() == 1 && gradient.weight == 1 && context.scale == 1) return values;
    sum_.resize(block.length);
    if (i == 0) {
      Scale(gradient.weight, values, sum_.data(), block.length);
    } else {
      AddScaled(gradient.weight, values, sum_.data(), block.length);
    }
  }
  if (context.scale != 1) Scale(context.scale, sum_.data(), sum_.data(), block.length);
  return sum_.data();
}

absl::Span<const float> DenseBlocks::State(BlockId id) const { return stored(id).state; }

absl::Status DenseBlocks::Restore(BlockId id, absl::Span<const float> state) {
  if (!contains(id)) {
    return absl::NotFoundError(absl::StrCat("block ", Raw(id), " is not in this partition"));
  }
  std::vector<float>& present = stored(id).state;
  if (state.size() != present.size()) {
    return absl::InvalidArgumentError(absl::StrCat("block ", Raw(id), ": ", state.size(),
                                                   " floats of state, expected ", present.size()));
  }
  std::copy(state.begin(), state.end(), present.begin());
  return absl::OkStatus();
}

void DenseBlocks::RestoreWeights(BlockId id, absl::Span<const float> weights) {
  Stored& block = stored(id);
  CAPSTAN_CHECK(weights.size() == block.length);
  std::copy(weights.begin(), weights.end(), block.state.begin());
  block.tensor->optimizer->Initialize(block.parameters(),
                                      block.tensor->spec.optimizer().learning_rate());
}

// ---- a copy as of one moment ----

void DenseBlocks::Mark(bool changes_only) {
  for (Stored& block : stored_) {
    block.marked_changed = block.changed;
    block.changed = false;
    block.wanted = block.marked_changed || !changes_only;
  }
}

void DenseBlocks::KeepImage(Stored& block) {
  if (!block.before.empty()) return;
  block.before = block.state;
  kept_floats_ += block.before.size();
}

absl::Span<const float> DenseBlocks::ReadMarked(BlockId id) {
  Stored& block = stored(id);
  block.wanted = false;
  return block.before.empty() ? block.state : block.before;
}

void DenseBlocks::Unmark() {
  for (Stored& block : stored_) {
    block.wanted = false;
    block.before = {};
  }
  kept_floats_ = 0;
}

void DenseBlocks::SettleMark(bool safe) {
  Unmark();
  for (Stored& block : stored_) block.changed = block.changed || (block.marked_changed && !safe);
}

void DenseBlocks::TrackChanges() {
  for (Stored& block : stored_) block.changed = false;
}

size_t DenseBlocks::memory_bytes() const {
  size_t floats = kept_floats_ + sum_.capacity() + compensated_.capacity();
  for (const Stored& block : stored_) floats += block.state.capacity();
  return floats * sizeof(float);
}

}  // namespace capstan
