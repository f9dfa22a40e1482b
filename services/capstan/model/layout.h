// Derives the towers, tables and tensors of a model from the settings of the model and the data.
#ifndef CAPSTAN_MODEL_LAYOUT_H_
#define CAPSTAN_MODEL_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/model/parameter_range.h"
#include "capstan/model/tower.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Completes `spec`: expands the preset into towers, fills in what the model does not set (loss,
// outputs, the standard deviation of embeddings), and derives `tables` and `tensors` with their
// optimizers, limits and seeds. A pure function of model, data, optimizers, limits and seed, so
// chief, shards, workers and tools agree without communication. Idempotent.
//
// All keys are in one table, `features` (id 0), so that a key is sent once; its segments are
// `linear` (`outputs` floats, initially 0) and `embedding` (embedding_dim floats, N(0,
// embedding_stddev^2)), each only if a tower reads it. A model without keys has no table. With
// data.features there is one table for each name of a table in them, with the same segments; the
// length of its embedding is set by `table_settings`. Tensors are numbered tower by tower. With
// model.user the tables have only an embedding, and `tensors` is not changed: tensors come from the
// program's declaration (chief/shell/model_intake).
//
// Returns INVALID_ARGUMENT, with one line that says what does not fit, if the model cannot be
// trained on the data: an mlp over a varying number of keys, a conv without an image, a softmax
// with one output, an fm over features of different dims ...
[[nodiscard]] absl::Status LayOutModel(v1::JobSpec& spec);

// Returns the towers of a completed spec, in its order.
absl::StatusOr<std::vector<std::unique_ptr<Tower>>> MakeTowers(const v1::JobSpec& spec);

// Returns the shape for which towers are made. REQUIRES: LayOutModel has completed `spec`.
ModelShape ShapeOf(const v1::JobSpec& spec);

// Returns for each feature in data.features the index of its table in spec.tables(). REQUIRES:
// LayOutModel has completed `spec`.
std::vector<size_t> TablesOfFeatures(const v1::JobSpec& spec);

// Sets the role of a tensor and its optimizer: `optimizer` if tensors with the role are trained,
// otherwise w -= g.
void SetRole(v1::TensorRole role, const v1::OptimizerSpec& optimizer, v1::TensorSpec& tensor);

// Returns the ranges of the running tensors (TENSOR_ROLE_RUNNING), which are not trained but
// changed by each step, in the flat dense parameters, in ascending order.
std::vector<ParameterRange> RunningParameters(const v1::JobSpec& spec);

// Returns the product of the shape's extents.
int64_t ElementCount(const v1::TensorSpec& tensor);

// Returns the number of flat dense parameters, which are the floats of all tensors, one tensor
// after another in order of their ids.
int64_t DenseParameterCount(const v1::JobSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_LAYOUT_H_
