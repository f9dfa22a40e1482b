// The models of the literature, as sets of towers.
#ifndef CAPSTAN_MODEL_PRESETS_H_
#define CAPSTAN_MODEL_PRESETS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Fills in what `model` does not set: the towers of its preset, their names (the kind), loss,
// outputs, embedding_stddev
// (.01), the scale of embeddings' learning rates (1), the widths of layers. Idempotent.
//
//   lr         linear, bias                 logistic regression
//   fm         linear, fm, bias             factorization machine
//   wide_deep  linear, mlp, bias            Wide&Deep
//   deepfm     linear, fm, mlp, bias        DeepFM
//   dcn_v2     cross, mlp, bias             DCN-v2, parallel
//   dlrm       dot, bias                    DLRM
//   mf         linear, fm, bias             biased matrix factorization: squared loss, two fields
//   mlp        mlp                          fully connected classifier
//   softmax    linear, bias                 multinomial regression
//   cnn        conv                         convolutional classifier
//
// `hidden` are the layers of mlp and of the heads of dot and conv. INVALID_ARGUMENT: the preset is
// unknown, there is no tower, two towers have the same name, or the loss does not allow this number
// of outputs.
[[nodiscard]] absl::Status ExpandPreset(v1::ModelSpec& model);

// Returns the names of all presets, sorted.
std::vector<std::string> PresetNames();

}  // namespace capstan

#endif  // CAPSTAN_MODEL_PRESETS_H_
