// The dense blocks of one partition.
#ifndef CAPSTAN_STORE_DENSE_BLOCKS_H_
#define CAPSTAN_STORE_DENSE_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/optim/optimizer.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/store/update.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Thread-compatible: guarded by its partition's mutex.
class DenseBlocks {
 public:
  // Creates the blocks that `layout` (computed from job.tensors) assigns to the partition, with
  // initial values: a pure function of (job.seed, tensor's name, index in the tensor).
  // INVALID_ARGUMENT: a tensor's settings are impossible; the message names the tensor.
  static absl::StatusOr<std::unique_ptr<DenseBlocks>> Create(const v1::JobSpec& job,
                                                             const DenseLayout& layout,
                                                             PartitionIndex partition);

  bool contains(BlockId id) const { return places_.contains(id); }
  const std::vector<Block>& blocks() const { return blocks_; }  // In order of their ids.

  // Returns null if the block is not in this partition.
  const Block* Find(BlockId id) const;

  // REQUIRES: contains(id).
  v1::OptimizerKind optimizer_kind(BlockId id) const {
    return stored(id).tensor->spec.optimizer().kind();
  }

  // The weights of a block. REQUIRES: contains(id).
  absl::Span<const float> Weights(BlockId id) const;

  // Updates the block once, with the weighted sum of the gradients, added in the given order.
  // REQUIRES: contains(id); `gradients` is not empty; `values` (and `pulled`, unless empty) have
  // the block's length.
  void Apply(BlockId id, absl::Span<const BlockGradient> gradients, const UpdateContext& context);

  // ---- for checkpoints ----

  // The block's weights, then its slots. REQUIRES: contains(id).
  absl::Span<const float> State(BlockId id) const;
  // Sets the block's weights and slots. NOT_FOUND: the block is not in this partition.
  // INVALID_ARGUMENT: `state` has another length.
  absl::Status Restore(BlockId id, absl::Span<const float> state);

  // Sets the block's weights, which may come from another optimizer, and initializes its slots.
  // REQUIRES: contains(id); `weights` has the block's length.
  void RestoreWeights(BlockId id, absl::Span<const float> weights);

  // ---- a copy as of one moment; see Table ----

  void Mark(bool changes_only);
  // IsMarked returns true if the copy contains the block and has not read it yet. ReadMarked
  // returns its state as of the mark, valid until the next change of the block; each block is read
  // once. REQUIRES: Mark() was called; contains(id).
  bool IsMarked(BlockId id) const { return stored(id).wanted; }
  absl::Span<const float> ReadMarked(BlockId id);
  void Unmark();
  void SettleMark(bool safe);
  void TrackChanges();
  size_t kept_bytes() const { return kept_floats_ * sizeof(float); }

  size_t memory_bytes() const;

 private:
  struct Tensor {
    v1::TensorSpec spec;
    std::unique_ptr<Optimizer> optimizer;
  };
  struct Stored {
    Parameters parameters() { return {state.data(), state.data() + length, length}; }

    const Tensor* tensor = nullptr;  // Points into tensors_.
    size_t length = 0;
    std::vector<float> state = {};  // Weights, then slots.

    bool changed = true;  // Changed since the mark; without a mark, since the last stored copy.
    bool marked_changed = true;      // Changed between the last stored copy and the mark.
    bool wanted = false;             // The copy contains the block, and has not read it yet.
    std::vector<float> before = {};  // The state as of the mark, if it has changed since.
  };

  explicit DenseBlocks(uint64_t seed) : seed_(seed) {}
  absl::Status Add(const Block& block, const v1::TensorSpec& spec);
  const void* Sum(const Stored& block, absl::Span<const BlockGradient> gradients,
                  const UpdateContext& context);
  void KeepImage(Stored& block);
  Stored& stored(BlockId id) { return stored_[places_.find(id)->second]; }
  const Stored& stored(BlockId id) const { return stored_[places_.find(id)->second]; }

  uint64_t seed_;
  absl::flat_hash_map<uint32_t, std::unique_ptr<Tensor>> tensors_;  // By index in job.tensors.
  std::vector<Block> blocks_;
  std::vector<Stored> stored_;
  absl::flat_hash_map<BlockId, size_t> places_;
  size_t kept_floats_ = 0;
  // Scratch memory of Apply.
  std::vector<float> sum_;
  std::vector<float> compensated_;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_DENSE_BLOCKS_H_
