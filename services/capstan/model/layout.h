// From the model's and the data's settings to the parameters: which towers, tables and tensors
// there are.
#ifndef CAPSTAN_MODEL_LAYOUT_H_
#define CAPSTAN_MODEL_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/model/parameter_range.h"
#include "capstan/model/tower.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Completes `spec`: expands the preset into towers, fills in what the model leaves open (loss,
// outputs, the spread of embeddings), and derives `tables` and `tensors` with their optimizers,
// limits and seeds. A pure function of model, data, optimizers, limits and seed, so chief, shards,
// workers and tools agree without asking. Idempotent.
//
// All keys live in one table, `features` (id 0), so that a key travels once; its segments are
// `linear`
// (`outputs` floats, initially 0) and `embedding` (embedding_dim floats, N(0, embedding_stddev^2)),
// each only if a tower reads it. A model without keys has no table. With data.features there is a
// table for each that they name, of an embedding alone. Tensors are numbered tower by
// tower. A user's program has the embedding alone, and its tensors are left as they are: they come
// from its declaration (chief/shell/model_intake).
//
// INVALID_ARGUMENT, one line saying what does not fit, if the model cannot be trained on the data:
// an mlp over a varying number of keys, a conv without an image, a softmax with one output ...
[[nodiscard]] absl::Status LayOutModel(v1::JobSpec& spec);

// The towers of a completed spec, in its order.
absl::StatusOr<std::vector<std::unique_ptr<Tower>>> MakeTowers(const v1::JobSpec& spec);

// The shape that towers are made for. REQUIRES: completed.
ModelShape ShapeOf(const v1::JobSpec& spec);

// What is trained has this optimizer, everything else w -= g.
void SetRole(v1::TensorRole role, const v1::OptimizerSpec& optimizer, v1::TensorSpec& tensor);

// Where in the flat dense parameters those tensors are that are not trained but changed by each
// step (TENSOR_ROLE_RUNNING); ascending.
std::vector<ParameterRange> RunningParameters(const v1::JobSpec& spec);

// Product of the shape's extents.
int64_t ElementCount(const v1::TensorSpec& tensor);

// Floats of all tensors, one after another in order of their ids: the flat dense parameters.
int64_t DenseParameterCount(const v1::JobSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_LAYOUT_H_
