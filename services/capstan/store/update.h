// The gradients that an update of rows or blocks consists of.
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
  PackedFloats
      pulled;  // The weights that the values were computed from; only with a compensate_lambda.
  float weight = 1;  // Its share of the update: staleness scale, share of the examples ...
  PackedCounts versions = {};  // RowVersions as pulled; empty: not known.
  // If the values are sums: how many gradients each row is the sum of. Empty: one each.
  PackedCounts counts = {};
};

// The gradient of one dense block.
struct BlockGradient {
  PackedFloats values;
  PackedFloats pulled;
  float weight = 1;
};

struct UpdateContext {
  // How far the job is, in examples (sync: round * lanes * batch_size): the position in
  // learning-rate schedules, and the clock of expiry.
  uint64_t progress_examples = 0;
  // DC-ASGD: every gradient that has `pulled` is compensated before it is weighted. 0: none.
  float compensate_lambda = 0;
  // The policy by which each row's gradient is judged by the row's own updates, if the gradients
  // tell the versions that they pulled. nullptr: rows are not judged.
  const v1::UpdatePolicy* row_policy = nullptr;
  // What the weighted sum of the gradients is multiplied by.
  float scale = 1;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_UPDATE_H_
