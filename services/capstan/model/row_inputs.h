// Derives the inputs of towers from the pulled rows of a batch's keys, and the gradients of these
// rows from the gradients that the towers return.
#ifndef CAPSTAN_MODEL_ROW_INPUTS_H_
#define CAPSTAN_MODEL_ROW_INPUTS_H_

#include <memory>
#include <span>

#include "capstan/model/gemm.h"
#include "capstan/model/matrix.h"
#include "capstan/model/network.h"
#include "capstan/model/tower.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// The calls for a batch must be made in the order below, with the same input. Allocates nothing
// once it has seen the largest batch. Thread-compatible.
class RowInputs {
 public:
  virtual ~RowInputs() = default;

  // Returns what towers read of the keys; it is valid until the next Forward. Unless `features`
  // [examples x ModelShape::feature_columns()] has no columns, writes the embeddings of each
  // example side by side into its first columns.
  virtual KeyedRows Forward(const NetworkInput& input, Gemm& gemm, Matrix features) = 0;

  // Returns zeros to which the towers add their gradients. Its `parameters` must be set by the
  // caller. REQUIRES: the features of Forward had columns if a tower adds to those gradients.
  virtual TowerGradients Gradients() = 0;

  // Returns the gradients of the rows, in the order of NetworkGradients::rows, from what was added
  // to Gradients(). They are valid until the next call of this function.
  virtual std::span<const float> Backward(const NetworkInput& input, Gemm& gemm) = 0;

  virtual int row_dim() const = 0;  // As Network::row_dim.
};

// For one table, whose rows are those of the keys. Both functions REQUIRE that LayOutModel has
// completed `spec`. `reads_features`: a tower reads TowerInput::features.
std::unique_ptr<RowInputs> NewKeyedInputs(const v1::JobSpec& spec, bool reads_features);

// For a job with data.features: the rows of an example's keys are pooled into one vector per
// feature, as their sum or mean with the weights of the keys.
std::unique_ptr<RowInputs> NewPooledInputs(const v1::JobSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_ROW_INPUTS_H_
