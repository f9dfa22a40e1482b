#include "worker/shell/step_gradients.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/reuse.h"
#include "capstan/optim/vector_math.h"

namespace capstan::worker {
namespace {

double CopyAndSquare(std::span<const float> from, std::span<float> to) {
  return capstan::CopyAndSquare(from.data(), to.data(), to.size());
}

void Scale(float factor, std::span<float> values) {
  for (float& value : values) value *= factor;
}

}  // namespace

StepGradients::StepGradients(Step& step) : step_(step) {
  for (StepTable& table : step_.tables) {
    ResizeForReuse(table.row_gradients, table.rows.size());
  }
  step_.parameter_gradients.resize(step_.parameters.size());
}

std::span<float> StepGradients::Next(size_t count) {
  CAPSTAN_CHECK(taken_ + count <= step_.parameters.size());
  const size_t begin = std::exchange(taken_, taken_ + count);
  return std::span(step_.parameter_gradients).subspan(begin, count);
}

void StepGradients::TakeRows(size_t table, std::span<const float> gradient) {
  std::vector<float>& to = step_.tables[table].row_gradients;
  if (gradient.empty()) {
    std::fill(to.begin(), to.end(), 0);
    return;
  }
  CAPSTAN_CHECK(gradient.size() == to.size());
  trained_.push_back({.gradient = gradient, .to = to});
}

void StepGradients::Take(std::span<const float> gradient) {
  trained_.push_back({.gradient = gradient, .to = Next(gradient.size())});
}

void StepGradients::TakeZeros(size_t count) {
  const std::span<float> to = Next(count);
  std::fill(to.begin(), to.end(), 0);
}

void StepGradients::TakeChange(std::span<const float> after) {
  const size_t begin = taken_;
  const std::span<float> to = Next(after.size());
  const auto before = std::span(step_.parameters).subspan(begin, after.size());
  std::transform(before.begin(), before.end(), after.begin(), to.begin(), std::minus<>());
  other_squares_ += CopyAndSquare(to, to);
}

void StepGradients::TakeDifference(std::span<const float> before_less_after) {
  other_squares_ += CopyAndSquare(before_less_after, Next(before_less_after.size()));
}

void StepGradients::Finish(double loss_sum, double clip_norm) {
  TakeZeros(step_.parameters.size() - taken_);
  double squares = 0;
  for (const Trained& of : trained_) squares += CopyAndSquare(of.gradient, of.to);
  step_.loss_sum = loss_sum;
  step_.gradient_norm = std::sqrt(squares);
  step_.nonfinite =
      !std::isfinite(squares) || !std::isfinite(other_squares_) || !std::isfinite(loss_sum);
  step_.clipped = clip_norm > 0 && step_.gradient_norm > clip_norm && !step_.nonfinite;
  if (!step_.clipped) return;
  const auto factor = static_cast<float>(clip_norm / step_.gradient_norm);
  for (const Trained& of : trained_) Scale(factor, of.to);
}

}  // namespace capstan::worker
