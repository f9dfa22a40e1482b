#include "capstan/model/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace capstan {
namespace {

float Inverse(double variance) {
  return static_cast<float>(1 / std::sqrt(std::max(variance, 0.0) + double{BatchNorm::kEpsilon}));
}

}  // namespace

void BatchNorm::Score(const Parameters& parameters, const ConstMatrix& x, Matrix y) {
  const auto columns = static_cast<size_t>(x.cols());
  inverse_.resize(columns);
  for (size_t j = 0; j < columns; ++j) inverse_[j] = Inverse(parameters.variance[j]);
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    const float* const row = x.data() + i * x.outerStride();
    float* const to = y.data() + i * y.outerStride();
    for (size_t j = 0; j < columns; ++j) {
      const float unit = (row[j] - parameters.mean[j]) * inverse_[j];
      to[j] = parameters.scale[j] * unit + parameters.shift[j];
    }
  }
}

void BatchNorm::TrainForward(const Parameters& parameters, const ConstMatrix& x, Matrix y) {
  const auto columns = static_cast<size_t>(x.cols());
  const double rows = static_cast<double>(std::max<Eigen::Index>(x.rows(), 1));
  mean_.assign(columns, 0);
  variance_.assign(columns, 0);
  inverse_.resize(columns);
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    const float* const row = x.data() + i * x.outerStride();
    for (size_t j = 0; j < columns; ++j) mean_[j] += row[j];
  }
  for (double& mean : mean_) mean /= rows;
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    const float* const row = x.data() + i * x.outerStride();
    for (size_t j = 0; j < columns; ++j) {
      const double apart = row[j] - mean_[j];
      variance_[j] += apart * apart;
    }
  }
  for (size_t j = 0; j < columns; ++j) {
    variance_[j] /= rows;
    inverse_[j] = Inverse(variance_[j]);
  }
  Matrix normalized = normalized_.Shape(x.rows(), x.cols());
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    const float* const row = x.data() + i * x.outerStride();
    float* const unit = normalized.data() + i * normalized.outerStride();
    float* const to = y.data() + i * y.outerStride();
    for (size_t j = 0; j < columns; ++j) {
      unit[j] = static_cast<float>(row[j] - mean_[j]) * inverse_[j];
      to[j] = parameters.scale[j] * unit[j] + parameters.shift[j];
    }
  }
}

void BatchNorm::Backward(const Parameters& parameters, Matrix gradient,
                         const Gradients& gradients) {
  const auto columns = static_cast<size_t>(gradient.cols());
  Matrix normalized = normalized_.matrix();
  const double rows = static_cast<double>(std::max<Eigen::Index>(gradient.rows(), 1));
  sums_.assign(columns, 0);
  products_.assign(columns, 0);
  for (Eigen::Index i = 0; i < gradient.rows(); ++i) {
    const float* const row = gradient.data() + i * gradient.outerStride();
    const float* const unit = normalized.data() + i * normalized.outerStride();
    for (size_t j = 0; j < columns; ++j) {
      sums_[j] += row[j];
      products_[j] += double{row[j]} * unit[j];
    }
  }
  const bool varies = gradient.rows() > 1;
  for (size_t j = 0; j < columns; ++j) {
    gradients.shift[j] = static_cast<float>(sums_[j]);
    gradients.scale[j] = static_cast<float>(products_[j]);
    const double unbiased = varies ? variance_[j] * rows / (rows - 1) : 0;
    gradients.mean[j] =
        gradient.rows() == 0 ? 0 : kMomentum * static_cast<float>(parameters.mean[j] - mean_[j]);
    gradients.variance[j] =
        varies ? kMomentum * static_cast<float>(parameters.variance[j] - unbiased) : 0;
    sums_[j] /= rows;
    products_[j] /= rows;
  }
  for (Eigen::Index i = 0; i < gradient.rows(); ++i) {
    float* const row = gradient.data() + i * gradient.outerStride();
    const float* const unit = normalized.data() + i * normalized.outerStride();
    for (size_t j = 0; j < columns; ++j) {
      const double apart = row[j] - sums_[j] - unit[j] * products_[j];
      row[j] = parameters.scale[j] * inverse_[j] * static_cast<float>(apart);
    }
  }
}

}  // namespace capstan
