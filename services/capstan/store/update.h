// What an update of rows or blocks is made of.
#ifndef CAPSTAN_STORE_UPDATE_H_
#define CAPSTAN_STORE_UPDATE_H_

#include <cstdint>

#include "capstan/store/packed.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Gradients of some rows of one table in one partition. Duplicate keys are summed first.
struct RowGradients {
  PackedKeys keys;
  PackedFloats values;  // dim floats a key, all finite.
  PackedFloats
      pulled;        // Weights that the values were computed from; only with a compensate_lambda.
  float weight = 1;  // Its share of the update: staleness scale, share of the examples ...
  PackedCounts versions = {};  // RowVersions as pulled; empty: not known.
  // How many gradients each row is the sum of, where some have been added before; empty: one each.
  PackedCounts counts = {};
};

// The gradient of one dense block.
struct BlockGradient {
  PackedFloats values;
  PackedFloats pulled;
  float weight = 1;
};

struct UpdateContext {
  // How far the job is, in examples (sync: round * lanes * batch_size): the place in learning-rate
  // schedules, and the clock of expiry.
  uint64_t progress_examples = 0;
  // DC-ASGD: every gradient that has `pulled` is compensated before it is weighted. 0: none.
  float compensate_lambda = 0;
  // Judges each row's gradient by the row's own updates, where the gradients tell what they have
  // pulled. nullptr: rows are not judged.
  const v1::UpdatePolicy* row_policy = nullptr;
  // What the weighted sum of the gradients is multiplied by.
  float scale = 1;
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_UPDATE_H_
