#include "chief/epoch_counter.h"

#include <limits>

namespace capstan::chief {
namespace {

constexpr uint64_t kToTheEnd = std::numeric_limits<uint64_t>::max();

// Bytes or records of the task's range; 1 where its end is open.
double SpanOf(const v1::Task& task) {
  if (task.end() == kToTheEnd || task.end() <= task.begin()) return 1;
  return static_cast<double>(task.end() - task.begin());
}

}  // namespace

EpochCounter::EpochCounter(const TaskSequence& sequence)
    : done_(sequence.epochs(), 0),
      spans_(sequence.tasks().size(), 0),
      measured_(sequence.tasks().size(), false) {
  for (size_t i = 0; i < spans_.size(); ++i) {
    const v1::Task& task = sequence.tasks()[i];
    if (task.expected_records() > 0) {
      known_examples_ += static_cast<double>(task.expected_records());
      continue;
    }
    spans_[i] = SpanOf(task);
    unknown_span_ += spans_[i];
  }
}

void EpochCounter::Done(const TaskSequence& sequence, const Place& place, uint64_t examples) {
  ++done_[place.epoch];
  while (epochs_done_ < done_.size() && done_[epochs_done_] == sequence.tasks().size()) {
    ++epochs_done_;
  }
  if (measured_[place.index]) return;
  measured_[place.index] = true;
  if (spans_[place.index] == 0) {
    known_examples_ += static_cast<double>(examples) -
                       static_cast<double>(sequence.task(place).expected_records());
    return;
  }
  measured_examples_ += static_cast<double>(examples);
  measured_span_ += spans_[place.index];
}

uint64_t EpochCounter::ExpectedExamples() const {
  if (unknown_span_ > 0 && measured_span_ == 0) return 0;
  double epoch = known_examples_;
  if (unknown_span_ > 0) epoch += measured_examples_ * (unknown_span_ / measured_span_);
  return static_cast<uint64_t>(epoch * static_cast<double>(done_.size()) + 0.5);
}

}  // namespace capstan::chief
