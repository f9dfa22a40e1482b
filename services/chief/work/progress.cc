#include "chief/work/progress.h"

#include <algorithm>
#include <cmath>

namespace capstan::chief {
namespace {

constexpr absl::Duration kSampleEvery = absl::Milliseconds(250);
constexpr absl::Duration kCurveEvery = absl::Seconds(1);
constexpr double kCurveShare = 0.01;

}  // namespace

void Progress::AddLoss(uint64_t examples, double loss_sum) {
  if (examples == 0) return;
  const double keep =
      std::exp(-static_cast<double>(examples) / static_cast<double>(options_.loss_window));
  loss_ = loss_ * keep + loss_sum;
  weight_ = weight_ * keep + static_cast<double>(examples);
  if (2 * weight_ < static_cast<double>(options_.loss_window)) return;
  const double mean = loss_ / weight_;
  if (least_loss_ == 0 || mean < least_loss_) least_loss_ = mean;
}

std::optional<double> Progress::loss() const {
  if (weight_ == 0) return std::nullopt;
  return loss_ / weight_;
}

void Progress::Update(uint64_t examples, uint64_t steps, absl::Time now) {
  examples_ = std::max(examples_, examples);
  steps_ = steps;
  if (!samples_.empty() && now - samples_.back().at < kSampleEvery) return;
  samples_.push_back({now, examples_});
  while (samples_.size() > 2 && now - samples_[1].at >= options_.rate_window) samples_.pop_front();
}

void Progress::Restore(uint64_t examples, uint64_t steps, absl::Time now) {
  examples_ = examples;
  steps_ = steps;
  samples_.clear();
  samples_.push_back({now, examples});
}

bool Progress::TakeCurveDue(absl::Time now) {
  if (now < curve_due_) return false;
  curve_due_ = now + std::max(kCurveEvery, (now - started_) * kCurveShare);
  return true;
}

double Progress::examples_per_second() const {
  if (samples_.size() < 2) return 0;
  const double seconds = absl::ToDoubleSeconds(samples_.back().at - samples_.front().at);
  // Settle() may have set a lower number than was estimated before.
  if (seconds <= 0 || samples_.back().examples < samples_.front().examples) return 0;
  return static_cast<double>(samples_.back().examples - samples_.front().examples) / seconds;
}

}  // namespace capstan::chief
