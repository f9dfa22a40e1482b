// Arithmetic on arrays of floats, with vectors as wide as the CPU allows and bit-equal results on
// every machine. Void pointers point to float32s at any alignment, for instance in a message.
#ifndef CAPSTAN_OPTIM_VECTOR_MATH_H_
#define CAPSTAN_OPTIM_VECTOR_MATH_H_

#include <cstddef>

namespace capstan {

// Returns true if no value is an infinity or a NaN.
bool AllFinite(const void* values, size_t count);

// Copies the values to `result`, which may be `values`, and returns the sum of their squares, which
// is finite exactly if every value is: the square of a float never overflows a double. The
// additions have a fixed order: those of every eighth value, then the rest and these eight sums.
double CopyAndSquare(const void* values, float* result, size_t count);

// sum[i] += weight * values[i], rounded after the product and after the sum.
void AddScaled(float weight, const void* values, float* sum, size_t count);

// result[i] = weight * values[i]; a copy if `weight` is 1.
void Scale(float weight, const void* values, float* result, size_t count);

// Delay compensation (Zheng et al., 2017: Asynchronous SGD with delay compensation):
// result[i] = g[i] + lambda * g[i] * g[i] * (now[i] - pulled[i]). `result` may be `gradient`.
struct Compensation {
  const void* gradient = nullptr;
  const void* pulled = nullptr;  // The weights from which the gradient was computed.
  const float* now = nullptr;    // The weights that it will change.
  float lambda = 0;
};
void Compensate(const Compensation& compensation, float* result, size_t count);

}  // namespace capstan

#endif  // CAPSTAN_OPTIM_VECTOR_MATH_H_
