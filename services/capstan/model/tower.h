// A tower: a part of a model that adds to the logits. A model is a set of towers over shared
// inputs.
//
// To add one: derive from Tower in a file of your own, say
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

// What a tower is made for.
struct ModelShape {
  bool has_keys = true;
  int fields = 0;  // Keys an example has; 0: none, or it varies, and there is no feature matrix.
  int embedding_dim = 0;
  int dense_width = 0;
  int image_height = 0, image_width = 0;  // 0: the dense input is no image.
  int outputs = 1;
  std::vector<int> hidden;  // ModelSpec.hidden: the head of towers that end in an mlp of their own.

  int embedding_columns() const { return fields * embedding_dim; }
  int feature_columns() const { return embedding_columns() + dense_width; }
};

struct TowerTensor {
  std::string name;  // Without the tower's.
  std::vector<uint32_t> shape;
  v1::Initializer initializer;
  v1::TensorRole role = v1::TENSOR_ROLE_UNSPECIFIED;
};

// What a tower owns and reads.
struct TowerDescription {
  std::vector<TowerTensor> tensors;
  bool reads_linear = false;     // The linear segment of the rows.
  bool reads_embedding = false;  // Their embedding segment, key by key.
  bool reads_features =
      false;  // TowerInput.features: embeddings side by side, then the dense input.
};

// The rows of a batch's keys. Key j of example i is rows[index[offsets[i] + j]], times its value.
struct KeyedRows {
  std::span<const uint32_t> offsets;  // examples + 1.
  std::span<const uint32_t> index;
  std::span<const float> values;  // Empty: all 1.
  ConstMatrix linear;             // Distinct rows' segments; no columns if no tower reads them.
  ConstMatrix embedding;
};

// The batch that a step is computed of: what dropout draws by.
struct TrainingBatch {
  uint64_t seed = 0;
  uint64_t first_example = 0;  // Its place in the batch, of which this may be a slice.
};

struct TowerInput {
  KeyedRows keys;
  ConstMatrix features;  // [examples x feature_columns()]; no columns if no tower reads them.
  ConstMatrix dense;     // [examples x dense_width].
  std::span<const float> parameters;  // The tower's tensors, one after another.
  Gemm& gemm;                         // For products; holds the scratch memory of the thread.
  std::optional<TrainingBatch> training = {};  // None while scoring.
};

// Where Backward puts gradients. It writes every element of `parameters` (of what is not trained
// what it was before the step less what it is after it) and adds to all others, which hold what
// other towers added before.
struct TowerGradients {
  std::span<float> parameters;
  Matrix features;   // [examples x embedding_columns()]: the dense input needs no gradient.
  Matrix linear;     // [distinct rows x outputs].
  Matrix embedding;  // [distinct rows x embedding_dim].
};

// Thread-compatible; may keep what Forward computed for the Backward that follows it. Must not
// allocate once it has seen its largest batch.
class Tower {
 public:
  virtual ~Tower() = default;
  virtual const TowerDescription& description() const = 0;

  // Adds to `logits` [examples x outputs].
  virtual void Forward(const TowerInput& input, Matrix logits) = 0;

  // The same input as the last Forward's; `logit_gradient` [examples x outputs].
  virtual void Backward(const TowerInput& input, ConstMatrix logit_gradient,
                        const TowerGradients& gradients) = 0;
};

// Makes a tower, or says in one line why there is none for this shape.
using TowerFactory = absl::StatusOr<std::unique_ptr<Tower>> (*)(const v1::TowerSpec& spec,
                                                                const ModelShape& shape);

// Makes the tower `spec.kind()`. INVALID_ARGUMENT: unknown kind, or what its factory said, both
// begin with the tower's name.
absl::StatusOr<std::unique_ptr<Tower>> MakeTower(const v1::TowerSpec& spec,
                                                 const ModelShape& shape);

// INVALID_ARGUMENT if there can be no TowerInput.features: for factories of towers that read them.
[[nodiscard]] absl::Status CheckFeatures(const ModelShape& shape);

// The kinds that MakeTower knows, sorted.
std::vector<std::string> TowerKinds();

// Makes a kind known to this program. Only for variables of namespace scope; a kind is registered
// once.
struct TowerRegistration {
  TowerRegistration(std::string_view kind, TowerFactory factory);
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_TOWER_H_
