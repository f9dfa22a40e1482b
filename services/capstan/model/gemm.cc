#include "capstan/model/gemm.h"

#include <algorithm>
#include <cstdint>

#include "capstan/base/check.h"

namespace capstan {
namespace {

kernels::Operand OperandOf(const ConstMatrix& m, bool transposed) {
  return {.data = m.data(), .stride = m.outerStride(), .transposed = transposed};
}

void Initialise(Matrix& c, std::span<const float> bias) {
  for (Eigen::Index i = 0; i < c.rows(); ++i) {
    float* row = c.data() + i * c.outerStride();
    if (bias.empty()) {
      std::fill_n(row, c.cols(), 0.0f);
    } else {
      std::copy_n(bias.data(), c.cols(), row);
    }
  }
}

}  // namespace

Gemm::Gemm(const kernels::Kernels& kernels)
    : kernels_(kernels), scratch_(kernels::kScratchFloats + 16) {}

float* Gemm::AlignedScratch() {
  const auto address = reinterpret_cast<uintptr_t>(scratch_.data());
  return reinterpret_cast<float*>((address + 63) / 64 * 64);
}

void Gemm::Multiply(const ConstMatrix& a, const ConstMatrix& b, Matrix c,
                    const GemmOptions& options) {
  const Eigen::Index depth = options.transpose_a ? a.rows() : a.cols();
  CAPSTAN_CHECK(depth == (options.transpose_b ? b.cols() : b.rows()));
  CAPSTAN_CHECK(c.rows() == (options.transpose_a ? a.cols() : a.rows()));
  CAPSTAN_CHECK(c.cols() == (options.transpose_b ? b.rows() : b.cols()));
  CAPSTAN_CHECK(options.bias.empty() || static_cast<Eigen::Index>(options.bias.size()) == c.cols());
  if (!options.accumulate) Initialise(c, options.bias);

  // If an operand is a vector, as with one logit at the end of a model, the packed kernel would be
  // wasteful.
  const bool b_is_packed_vector = b.outerStride() == 1 || b.rows() == 1;
  if (c.size() == 0 || depth == 0) {
    // The product is 0: there is nothing to add.
  } else if (c.cols() == 1 && !options.transpose_a && b_is_packed_vector) {
    kernels_.row_dots(a.data(), a.outerStride(), a.rows(), a.cols(), b.data(), c.data(),
                      c.outerStride());
  } else if (c.cols() == 1 && options.transpose_a && !options.transpose_b && c.outerStride() == 1) {
    kernels_.column_sums(a.data(), a.outerStride(), a.rows(), a.cols(), b.data(), b.outerStride(),
                         c.data());
  } else if (depth == 1 && !options.transpose_a && b_is_packed_vector) {
    kernels_.outer(a.data(), a.outerStride(), b.data(), c.rows(), c.cols(), c.data(),
                   c.outerStride());
  } else {
    kernels_.multiply({.rows = c.rows(),
                       .columns = c.cols(),
                       .depth = depth,
                       .a = OperandOf(a, options.transpose_a),
                       .b = OperandOf(b, options.transpose_b),
                       .c = c.data(),
                       .c_stride = c.outerStride(),
                       .scratch = AlignedScratch()});
  }
  if (options.relu) kernels_.relu(c.data(), c.outerStride(), c.rows(), c.cols());
  if (options.mask != nullptr) {
    kernels_.relu_gradient(c.data(), options.mask, c.outerStride(), c.rows(), c.cols());
  }
}

void Gemm::AddColumnSums(const ConstMatrix& a, std::span<float> sums) {
  CAPSTAN_CHECK(static_cast<Eigen::Index>(sums.size()) == a.cols());
  kernels_.column_sums(a.data(), a.outerStride(), a.rows(), a.cols(), nullptr, 0, sums.data());
}

}  // namespace capstan
