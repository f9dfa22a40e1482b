#include "worker/shell/step_gradients.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "capstan/base/check.h"

namespace capstan::worker {
namespace {

// Sets to[i] = from(i), and returns the sum of the squares. It is finite exactly when every element
// is: the square of a float never overflows a double. The order of the additions is fixed.
template <typename From>
double FillAndSquare(const From& from, std::span<float> to) {
  constexpr size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  size_t i = 0;
  for (; i + kLanes <= to.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float value = from(i + lane);
      to[i + lane] = value;
      sums[lane] += static_cast<double>(value) * value;
    }
  }
  double sum = 0;
  for (; i < to.size(); ++i) {
    const float value = from(i);
    to[i] = value;
    sum += static_cast<double>(value) * value;
  }
  for (double lane : sums) sum += lane;
  return sum;
}

double CopyAndSquare(std::span<const float> from, std::span<float> to) {
  return FillAndSquare([from](size_t i) { return from[i]; }, to);
}

void Scale(float factor, std::span<float> values) {
  for (float& value : values) value *= factor;
}

}  // namespace

StepGradients::StepGradients(Step& step) : step_(step) {
  for (StepTable& table : step_.tables) table.row_gradients.resize(table.rows.size());
  step_.parameter_gradients.resize(step_.parameters.size());
}

void StepGradients::TakeRows(size_t table, std::span<const float> gradient) {
  std::vector<float>& to = step_.tables[table].row_gradients;
  if (gradient.empty()) {
    std::fill(to.begin(), to.end(), 0);
    return;
  }
  CAPSTAN_CHECK(gradient.size() == to.size());
  squares_ += CopyAndSquare(gradient, to);
}

void StepGradients::Take(std::span<const float> gradient) {
  CAPSTAN_CHECK(taken_ + gradient.size() <= step_.parameters.size());
  squares_ += CopyAndSquare(gradient,
                            std::span(step_.parameter_gradients).subspan(taken_, gradient.size()));
  trained_.emplace_back(taken_, gradient.size());
  taken_ += gradient.size();
}

void StepGradients::TakeZeros(size_t count) {
  CAPSTAN_CHECK(taken_ + count <= step_.parameters.size());
  std::fill_n(step_.parameter_gradients.begin() + static_cast<ptrdiff_t>(taken_), count, 0);
  taken_ += count;
}

void StepGradients::TakeChange(std::span<const float> after) {
  CAPSTAN_CHECK(taken_ + after.size() <= step_.parameters.size());
  const auto before = std::span(step_.parameters).subspan(taken_, after.size());
  other_squares_ +=
      FillAndSquare([before, after](size_t i) { return before[i] - after[i]; },
                    std::span(step_.parameter_gradients).subspan(taken_, after.size()));
  taken_ += after.size();
}

void StepGradients::TakeDifference(std::span<const float> before_less_after) {
  CAPSTAN_CHECK(taken_ + before_less_after.size() <= step_.parameters.size());
  other_squares_ +=
      CopyAndSquare(before_less_after,
                    std::span(step_.parameter_gradients).subspan(taken_, before_less_after.size()));
  taken_ += before_less_after.size();
}

void StepGradients::Finish(double loss_sum, double clip_norm) {
  TakeZeros(step_.parameters.size() - taken_);
  step_.loss_sum = loss_sum;
  step_.gradient_norm = std::sqrt(squares_);
  step_.nonfinite =
      !std::isfinite(squares_) || !std::isfinite(other_squares_) || !std::isfinite(loss_sum);
  step_.clipped = clip_norm > 0 && step_.gradient_norm > clip_norm && !step_.nonfinite;
  if (!step_.clipped) return;
  const auto factor = static_cast<float>(clip_norm / step_.gradient_norm);
  for (StepTable& table : step_.tables) Scale(factor, table.row_gradients);
  for (const auto& [begin, count] : trained_) {
    Scale(factor, std::span(step_.parameter_gradients).subspan(begin, count));
  }
}

}  // namespace capstan::worker
