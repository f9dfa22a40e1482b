// Makes what towers read of a batch's keys out of the rows that were pulled, and gradients of these
// rows out of what the towers say.
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

// The calls of a batch come in the order below, with one and the same input. Allocates nothing once
// it has seen the largest batch. Thread-compatible.
class RowInputs {
 public:
  virtual ~RowInputs() = default;

  // Returns what towers see of the keys; it is valid until the next Forward. Unless `features`
  // [examples x ModelShape::feature_columns()] has no columns, writes the embeddings of each
  // example side by side into its first columns.
  virtual KeyedRows Forward(const NetworkInput& input, Gemm& gemm, Matrix features) = 0;

  // Returns zeros for the towers to add their gradients to. Its `parameters` are left to the
  // caller. REQUIRES: the features of Forward had columns if a tower adds to those gradients.
  virtual TowerGradients Gradients() = 0;

  // Returns the gradients of the rows, in the order of NetworkGradients::rows, from what has been
  // added to Gradients(). They are valid until the next call of this.
  virtual std::span<const float> Backward(const NetworkInput& input, Gemm& gemm) = 0;

  virtual int row_dim() const = 0;  // As Network::row_dim.
};

// One table, whose rows are the keys' own. REQUIRES of both: LayOutModel has completed `spec`;
// `reads_features`: a tower reads TowerInput::features.
std::unique_ptr<RowInputs> NewKeyedInputs(const v1::JobSpec& spec, bool reads_features);

// The features of a job with data.features: the rows of an example's keys, whole, become one vector
// a feature, their sum or mean with the weights of the keys.
std::unique_ptr<RowInputs> NewPooledInputs(const v1::JobSpec& spec);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_ROW_INPUTS_H_
