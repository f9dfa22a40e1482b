// What stands between two layers.
#ifndef CAPSTAN_MODEL_ACTIVATION_H_
#define CAPSTAN_MODEL_ACTIVATION_H_

#include "capstan/model/matrix.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// y = f(x), element by element; x and y have the same shape and may be one. GELU is the exact one,
// x times the normal distribution function (Hendrycks, Gimpel 2016); SiLU is x times its sigmoid;
// LEAKY_RELU has a slope of 0.01 below 0; ELU is exp(x) - 1 there. Unspecified is RELU.
void Activate(v1::Activation activation, const ConstMatrix& x, Matrix y);

// gradient *= f'(x), element by element.
void MultiplyByDerivative(v1::Activation activation, const ConstMatrix& x, Matrix gradient);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_ACTIVATION_H_
