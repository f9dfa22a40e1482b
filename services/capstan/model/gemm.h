// The matrix product that the towers spend their time in: float, one thread, with the element-wise
// work around it done while the result is still in registers. Vectors as wide as the CPU has,
// chosen at run time.
#ifndef CAPSTAN_MODEL_GEMM_H_
#define CAPSTAN_MODEL_GEMM_H_

#include <span>
#include <vector>

#include "capstan/model/kernels/kernels.h"
#include "capstan/model/matrix.h"

namespace capstan {

struct GemmOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;           // c += instead of c =.
  std::span<const float> bias = {};  // One a column, added to the product.
  bool relu = false;                 // max(0, product + bias).
  // Has c's shape and stride: where it is not positive, c becomes 0 (ReLU's gradient).
  const float* mask = nullptr;
};

// Thread-compatible: holds scratch memory, about 2 MiB.
class Gemm {
 public:
  explicit Gemm(const kernels::Kernels& kernels = kernels::Best());

  // c = a * b, with the options. The order of additions depends on the shapes only. REQUIRES:
  // matching shapes; c overlaps neither a nor b; not both bias and accumulate.
  void Multiply(const ConstMatrix& a, const ConstMatrix& b, Matrix c,
                const GemmOptions& options = {});

  // sums[j] += sum over i of a[i, j].
  void AddColumnSums(const ConstMatrix& a, std::span<float> sums);

  const kernels::Kernels& kernels() const { return kernels_; }

 private:
  float* AlignedScratch();

  const kernels::Kernels& kernels_;
  std::vector<float> scratch_;
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_GEMM_H_
