// Eigen's types as used by the towers: row-major float matrices over borrowed memory, whose rows
// may be further apart than their length.
#ifndef CAPSTAN_MODEL_MATRIX_H_
#define CAPSTAN_MODEL_MATRIX_H_

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

namespace capstan {

using RowMajorMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Matrix = Eigen::Map<RowMajorMatrix, Eigen::Unaligned, Eigen::OuterStride<>>;
using ConstMatrix = Eigen::Map<const RowMajorMatrix, Eigen::Unaligned, Eigen::OuterStride<>>;

inline Matrix MatrixAt(float* data, Eigen::Index rows, Eigen::Index columns) {
  return Matrix(data, rows, columns, Eigen::OuterStride<>(columns));
}
inline ConstMatrix MatrixAt(const float* data, Eigen::Index rows, Eigen::Index columns) {
  return ConstMatrix(data, rows, columns, Eigen::OuterStride<>(columns));
}
inline ConstMatrix Const(const Matrix& m) {
  return ConstMatrix(m.data(), m.rows(), m.cols(), Eigen::OuterStride<>(m.outerStride()));
}

// Return a view of `count` columns beginning at `begin`, in the same memory.
inline Matrix Columns(const Matrix& m, Eigen::Index begin, Eigen::Index count) {
  return Matrix(const_cast<float*>(m.data()) + begin, m.rows(), count,
                Eigen::OuterStride<>(m.outerStride()));
}
inline ConstMatrix Columns(const ConstMatrix& m, Eigen::Index begin, Eigen::Index count) {
  return ConstMatrix(m.data() + begin, m.rows(), count, Eigen::OuterStride<>(m.outerStride()));
}

// Returns the floats of a matrix. REQUIRES: its rows are contiguous.
inline std::span<const float> FlatSpan(const ConstMatrix& m) {
  return {m.data(), static_cast<size_t>(m.size())};
}

// Memory for the matrices of batches, which only grows. Thread-compatible.
class MatrixBuffer {
 public:
  // Returns a matrix [rows x columns] with unspecified content. Matrices that were returned before
  // become invalid.
  Matrix Shape(Eigen::Index rows, Eigen::Index columns) {
    // Reserves at least one row, so that views of columns of an empty matrix point into memory.
    const size_t size = static_cast<size_t>((rows > 0 ? rows : 1) * columns);
    if (memory_.size() < size) memory_.resize(size);
    rows_ = rows;
    columns_ = columns;
    return matrix();
  }

  // Returns the matrix as last shaped.
  Matrix matrix() { return MatrixAt(memory_.data(), rows_, columns_); }

 private:
  std::vector<float> memory_;
  Eigen::Index rows_ = 0, columns_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_MODEL_MATRIX_H_
