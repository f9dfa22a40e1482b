// A model that computes forward and backward over one batch. Each compute thread has its own
// network.
#ifndef CAPSTAN_MODEL_NETWORK_H_
#define CAPSTAN_MODEL_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "capstan/model/parameter_range.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// The keys of a batch for one feature in data.features.
struct FeatureKeys {
  // examples + 1: where an example's keys begin among those of the feature. The first need not be
  // 0.
  std::span<const uint32_t> offsets;
  size_t begin = 0;                // Where the feature's keys begin in TableRows::index.
  std::span<const float> weights;  // One per key of the feature; empty if all are 1.
};

// The distinct rows that a batch needs of one table when the job has data.features.
struct TableRows {
  std::span<const uint32_t> index;  // Key -> its row in `rows`, one feature after another.
  std::span<const float> rows;      // Each has the length set in the job's tables.
};

// One batch with the parameters that it needs. All spans are borrowed for the call. With
// data.features the keys and rows are in `features` and `tables`; then `index`, `values` and `rows`
// are not read, and only the size of `offsets` matters.
struct NetworkInput {
  std::span<const float> labels;        // The labels of the examples; Forward does not read them.
  std::span<const float> weights = {};  // One per example; empty if all are 1.
  std::span<const uint32_t> offsets;    // examples + 1: where an example's keys begin in `index`.
  std::span<const uint32_t> index;      // Key -> its row in `rows`.
  std::span<const float> values;        // One per key; empty if all are 1.
  std::span<const float> dense;         // dense_width floats per example.
  std::span<const float> rows;          // Distinct rows, row_dim() floats each.
  std::span<const float> parameters;    // All tensors, flat, in the order of their ids.
  uint64_t draw = 0;                    // Identifies the batch; dropout depends on it.
  uint64_t first_example = 0;           // The index of the first example in that batch.
  std::span<const FeatureKeys> features = {};  // One for each of data.features, in their order.
  std::span<const TableRows> tables = {};      // With data.features: all tables of the job.
};

// Owned by the network, valid until its next call.
struct NetworkGradients {
  double loss_sum = 0;            // The sum of the examples' losses.
  std::span<const float> logits;  // outputs() floats per example.
  std::span<const float> rows;    // As NetworkInput.rows, or those of its tables one after another.
  std::span<const float> parameters;  // As NetworkInput.parameters.
  // The ranges of `parameters` that are not gradients but, for running tensors, the value before
  // the step minus the value after it. In ascending order.
  std::span<const ParameterRange> running;
};

// Computes bit-equal results for equal input on the same kind of CPU, regardless of earlier calls
// and of the input's addresses. Allocates only when a batch is larger than any before.
// Thread-compatible.
class Network {
 public:
  // Creates the network of a spec, which computes on train.step_threads threads. INVALID_ARGUMENT:
  // its towers and tensors do not match. REQUIRES: LayOutModel has completed `spec`.
  static absl::StatusOr<std::unique_ptr<Network>> Create(const v1::JobSpec& spec);
  virtual ~Network() = default;

  // Returns the logits, outputs() floats for each example, computed as for scoring (without
  // dropout, and with running means in batch norm). They are owned by the network and valid until
  // its next call. REQUIRES: the input has the model's shape, and every index is below the number
  // of rows.
  virtual std::span<const float> Forward(const NetworkInput& input) = 0;

  // Returns the gradients of the sum of the examples' losses (capstan/model/loss.h, with the
  // weights of labels and examples) divided by the number of examples; with train.sum_loss, of the
  // sum itself. Computed as for training: with dropout, and with batch norm over the batch, or over
  // each slice of it that is computed separately.
  virtual NetworkGradients ForwardBackward(const NetworkInput& input) = 0;

  virtual int row_dim() const = 0;  // 0 if the model has no table, or has data.features.
  virtual int outputs() const = 0;
  virtual int64_t parameter_count() const = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_NETWORK_H_
