// A tower: a part of a model that adds to the logits. A model is a set of towers over shared
// inputs.
//
// To add a tower: derive from Tower in a file of your own, say
//   const TowerRegistration kMine("mine", NewMine);
// there, build it into chief, worker and command by CMake's capstan_add_programs(TOWERS <its
// file>), as deploy/examples/extension does, and name it in job.yaml: `towers: [{kind: mine}]`.
// tests/unit/model/gradient_test.cc checks every registered kind against numerical gradients.
#ifndef CAPSTAN_MODEL_TOWER_H_
#define CAPSTAN_MODEL_TOWER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/model/gemm.h"
#include "capstan/model/matrix.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// The input of an example for one feature in data.features: the sum or mean of the embeddings of
// its keys.
struct PooledShape {
  std::string name;
  int dim = 0;
};

// The shape of the inputs and outputs for which a tower is made.
struct ModelShape {
  bool has_keys = true;
  // The number of keys of an example; 0: it has none, or their number varies, and there is no
  // feature matrix. With data.features each feature counts as one key for towers, whose row is the
  // pooled vector.
  int fields = 0;
  int embedding_dim = 0;  // 0: there are no embeddings, or those of features differ (CheckOneDim).
  std::vector<PooledShape> pooled;  // One for each of data.features, in their order.
  int dense_width = 0;
  int image_height = 0, image_width = 0;  // 0: the dense input is not an image.
  int outputs = 1;
  // ModelSpec.hidden: the layers of the head, for towers that end in an mlp.
  std::vector<int> hidden;

  int embedding_columns() const;
  int feature_columns() const { return embedding_columns() + dense_width; }
};

struct TowerTensor {
  std::string name;  // Without the tower's name.
  std::vector<uint32_t> shape;
  v1::Initializer initializer;
  v1::TensorRole role = v1::TENSOR_ROLE_UNSPECIFIED;
};

// The tensors of a tower, and which inputs it reads.
struct TowerDescription {
  std::vector<TowerTensor> tensors;
  bool reads_linear = false;     // It reads KeyedRows::linear.
  bool reads_embedding = false;  // It reads KeyedRows::embedding.
  // It reads TowerInput::features: embeddings side by side, then the dense input.
  bool reads_features = false;
};

// The rows of a batch's keys. Key j of example i is rows[index[offsets[i] + j]], times its value.
// With data.features each feature of an example counts as a key, and the rows are their pooled
// vectors, examples times features in number.
struct KeyedRows {
  std::span<const uint32_t> offsets;  // examples + 1.
  std::span<const uint32_t> index;
  std::span<const float> values;  // Empty if all are 1.
  ConstMatrix linear;  // The linear segment of the distinct rows; no columns if no tower reads it.
  ConstMatrix embedding;  // Also no columns if the dims of features differ.
};

// Identifies the batch of a training step; dropout depends on it.
struct TrainingBatch {
  uint64_t seed = 0;
  // The index of the first example in the batch, as a slice of the batch may be computed.
  uint64_t first_example = 0;
};

struct TowerInput {
  KeyedRows keys;
  ConstMatrix features;  // [examples x feature_columns()]; no columns if no tower reads them.
  ConstMatrix dense;     // [examples x dense_width].
  std::span<const float> parameters;  // The tower's tensors, one after another.
  Gemm& gemm;                         // For products; holds the scratch memory of the thread.
  std::optional<TrainingBatch> training = {};  // nullopt while scoring.
};

// Where Backward puts gradients. It must write every element of `parameters` (for running tensors
// the value before the step minus the value after it), and add to all the others, to which other
// towers have added before.
struct TowerGradients {
  std::span<float> parameters;
  Matrix features;   // [examples x embedding_columns()]: the dense input needs no gradient.
  Matrix linear;     // [distinct rows x outputs].
  Matrix embedding;  // [distinct rows x embedding_dim].
};

// A tower may keep what Forward computed for the Backward that follows, and must not allocate once
// it has seen its largest batch. Thread-compatible.
class Tower {
 public:
  virtual ~Tower() = default;
  virtual const TowerDescription& description() const = 0;

  // Adds the tower's output to `logits` [examples x outputs].
  virtual void Forward(const TowerInput& input, Matrix logits) = 0;

  // Computes gradients from `logit_gradient` [examples x outputs]. REQUIRES: `input` is that of the
  // last Forward.
  virtual void Backward(const TowerInput& input, ConstMatrix logit_gradient,
                        const TowerGradients& gradients) = 0;
};

// Creates a tower, or returns an error that says in one line why the shape does not allow it.
using TowerFactory = absl::StatusOr<std::unique_ptr<Tower>> (*)(const v1::TowerSpec& spec,
                                                                const ModelShape& shape);

// Creates the tower `spec.kind()`. INVALID_ARGUMENT: the kind is unknown. Also returns the error of
// its factory. Messages begin with the tower's name.
absl::StatusOr<std::unique_ptr<Tower>> MakeTower(const v1::TowerSpec& spec,
                                                 const ModelShape& shape);

// For the factories of towers that read TowerInput::features. INVALID_ARGUMENT: the shape has no
// feature matrix.
[[nodiscard]] absl::Status CheckFeatures(const ModelShape& shape);

// For the factories of towers that read KeyedRows::embedding, or combine the embeddings of two
// fields. INVALID_ARGUMENT, with their names: two features in data.features have embeddings of
// different dims.
[[nodiscard]] absl::Status CheckOneDim(const ModelShape& shape);

// The kinds that MakeTower knows, sorted.
std::vector<std::string> TowerKinds();

// Registers a kind of tower with this program. For variables at namespace scope only. REQUIRES: the
// kind is registered once.
struct TowerRegistration {
  TowerRegistration(std::string_view kind, TowerFactory factory);
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_TOWER_H_
