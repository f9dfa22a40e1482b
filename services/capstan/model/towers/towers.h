// The towers that are part of Capstan, a file each; tower.h is their interface.
#ifndef CAPSTAN_MODEL_TOWERS_TOWERS_H_
#define CAPSTAN_MODEL_TOWERS_TOWERS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "capstan/model/tower.h"

namespace capstan {

using TowerResult = absl::StatusOr<std::unique_ptr<Tower>>;

// One weight per output, which is added to the output of every example.
TowerResult NewBias(const v1::TowerSpec& spec, const ModelShape& shape);

// The weighted sum of the keys (`outputs` weights per key) and of the dense input.
TowerResult NewLinear(const v1::TowerSpec& spec, const ModelShape& shape);

// Factorization machine (Rendle 2010): the sum over all pairs of an example's keys of the dot
// product of their embeddings.
TowerResult NewFm(const v1::TowerSpec& spec, const ModelShape& shape);

// Fully connected layers of the widths `spec.hidden` over the features, each followed by an
// activation, then a linear layer to the outputs.
TowerResult NewMlp(const v1::TowerSpec& spec, const ModelShape& shape);

// DCN-v2 (Wang et al. 2021): `spec.layers` times x = x0 * (x W + b) + x over the features, then a
// linear layer to the outputs. Together with an mlp it is the paper's parallel form: a linear layer
// over both side by side is the sum of one over each.
TowerResult NewCross(const v1::TowerSpec& spec, const ModelShape& shape);

// DLRM (Naumov et al. 2019): the dot products of all pairs of embeddings, and of the dense input
// after the bottom layers `spec.hidden`, which bring it to the same length; then the top layers,
// ModelSpec.hidden, over that and the products.
TowerResult NewDot(const v1::TowerSpec& spec, const ModelShape& shape);

// For images: a 3x3 convolution (zero padding), ReLU and 2x2 max pooling for each of `spec.hidden`
// (channels), then the layers ModelSpec.hidden and a linear layer to the outputs.
TowerResult NewConv(const v1::TowerSpec& spec, const ModelShape& shape);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_TOWERS_TOWERS_H_
