// The matrix product that the towers spend their time in: float, one thread, with the element-wise
// work around it done while the result is still in registers. Vectors as wide as the CPU has,
// chosen at run time.
#ifndef CAPSTAN_MODEL_GEMM_H_
#define CAPSTAN_MODEL_GEMM_H_

#include <span>
#include <vector>

#include "capstan/model/matrix.h"

namespace capstan {

struct GemmOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;           // c += instead of c =.
  std::span<const float> bias = {};  // One a column, added to the product.
  bool relu = false;                 // max(0, product + bias).
  const float* mask =
      nullptr;  // Of c's shape and stride: where it is not positive, c becomes 0 (ReLU's gradient).
};

// Thread-compatible: holds the packed operand, which only grows.
class Gemm {
 public:
  // c = a * b, with the options. Sums over the inner dimension in the same order for every shape of
  // memory, so the same input gives the same bits. REQUIRES: matching shapes; c overlaps neither a
  // nor b.
  void Multiply(const ConstMatrix& a, const ConstMatrix& b, Matrix c,
                const GemmOptions& options = {});

 private:
  std::vector<float> packed_a_;
  std::vector<float> packed_b_;
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_GEMM_H_
