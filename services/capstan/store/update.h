// The gradients that make up an update of rows or blocks.
#ifndef CAPSTAN_STORE_UPDATE_H_
#define CAPSTAN_STORE_UPDATE_H_

#include <cstdint>

#include "capstan/store/packed.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Gradients of some rows of one table in one partition. The values of duplicate keys are summed
// first.
struct RowGradients {
  PackedKeys keys;
  PackedFloats values;  // dim floats for each key, all finite.
  // The weights from which the values were computed; only with a compensate_lambda.
  PackedFloats pulled;
  float weight = 1;            // The weight in the sum: staleness scale, share of the examples ...
  PackedCounts versions = {};  // The RowVersions that were pulled; empty: not known.
  // If the values are sums: how many gradients each row's sum has. Empty: one each.
  PackedCounts counts = {};
};

// The gradient of one dense block.
struct BlockGradient {
  PackedFloats values;
  PackedFloats pulled;
  float weight = 1;
};

struct UpdateContext {
  // The progress of the job, in examples (sync: round * lanes * batch_size): the position in
  // learning-rate schedules, and the clock for expiry.
  uint64_t progress_examples = 0;
  // DC-ASGD: every gradient that has `pulled` is compensated before it is weighted. 0: off.
  float compensate_lambda = 0;
  // The policy by which each row's gradient is judged by the row's own updates, if the gradients
  // have the versions that they pulled. Null: rows are not judged.
  const v1::UpdatePolicy* row_policy = nullptr;
  // The weighted sum of the gradients is multiplied by this.
  float scale = 1;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_UPDATE_H_
