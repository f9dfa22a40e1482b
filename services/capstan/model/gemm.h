// The matrix product, in which towers spend most of their time: float, one thread, with the
// element-wise work on the result done while it is in registers. The vector width is chosen at run
// time, as wide as the CPU supports.
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
  std::span<const float> bias = {};  // One per column, added to the product.
  bool relu = false;                 // max(0, product + bias).
  // A matrix with c's shape and stride: where it is not positive, c becomes 0 (the gradient of
  // ReLU).
  const float* mask = nullptr;
};

// Thread-compatible: holds scratch memory, about 2 MiB.
class Gemm {
 public:
  explicit Gemm(const kernels::Kernels& kernels = kernels::Best());

  // Computes c = a * b, with the options. The order of additions depends only on the shapes.
  // REQUIRES: the shapes match; c overlaps neither a nor b; not both bias and accumulate.
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
