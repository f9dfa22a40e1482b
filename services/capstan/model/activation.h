// The activation functions between two layers.
#ifndef CAPSTAN_MODEL_ACTIVATION_H_
#define CAPSTAN_MODEL_ACTIVATION_H_

#include "capstan/model/matrix.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Sets y = f(x), element by element; x and y have the same shape and may be the same matrix. GELU
// is the exact form, x times the normal distribution function (Hendrycks, Gimpel 2016); SiLU is x
// times its sigmoid; LEAKY_RELU has a slope of 0.01 below 0, where ELU is exp(x) - 1. Unspecified
// is RELU.
void Activate(v1::Activation activation, const ConstMatrix& x, Matrix y);

// gradient *= f'(x), element by element.
void MultiplyByDerivative(v1::Activation activation, const ConstMatrix& x, Matrix gradient);

}  // namespace capstan

#endif  // CAPSTAN_MODEL_ACTIVATION_H_
