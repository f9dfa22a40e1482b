#include "chief/work/epoch_counter.h"

#include <algorithm>
#include <limits>

namespace capstan::chief {
namespace {

constexpr uint64_t kToTheEnd = std::numeric_limits<uint64_t>::max();

// Bytes or records of the task's range; 1 where its end is open.
double SpanOf(const v1::Task& task) {
  if (task.end() == kToTheEnd || task.end() <= task.begin()) return 1;
  return static_cast<double>(task.end() - task.begin());
}

uint64_t ExpectedOf(const TaskSequence& sequence, const Place& place) {
  return sequence.tasks().ExpectedRecords(place.epoch, place.index);
}

}  // namespace

EpochCounter::EpochCounter(const TaskSequence& sequence)
    : tasks_(sequence.tasks().size()),
      done_(sequence.epochs(), 0),
      examples_(sequence.epochs(), 0),
      spans_(sequence.tasks().size(), 0),
      measured_(sequence.tasks().size(), false),
      known_examples_(static_cast<double>(sequence.tasks().mixed_records())) {
  for (uint32_t i = 0; i < spans_.size(); ++i) {
    const v1::Task* range = sequence.tasks().WholeRange(i);
    if (range == nullptr) continue;
    if (range->expected_records() > 0) {
      known_examples_ += static_cast<double>(range->expected_records());
      continue;
    }
    spans_[i] = SpanOf(*range);
    unknown_span_ += spans_[i];
  }
}

void EpochCounter::Done(const TaskSequence& sequence, const Place& place, uint64_t examples) {
  CountTask(place);
  examples_[place.epoch] += examples;
  if (measured_[place.index]) return;
  measured_[place.index] = true;
  if (spans_[place.index] == 0) {
    known_examples_ +=
        static_cast<double>(examples) - static_cast<double>(ExpectedOf(sequence, place));
    return;
  }
  measured_examples_ += static_cast<double>(examples);
  measured_span_ += spans_[place.index];
}

void EpochCounter::Restore(const TaskSequence& sequence, std::span<const Place> done,
                           const v1::TaskProgress& progress) {
  double known = 0;
  for (const Place& place : done) {
    CountTask(place);
    measured_span_ += spans_[place.index];
    if (unknown_span_ > 0) known += static_cast<double>(ExpectedOf(sequence, place));
  }
  const auto examples = static_cast<double>(progress.done_examples());
  if (measured_span_ > 0) measured_examples_ = std::max(0.0, examples - known);
  uint64_t rest = progress.done_examples();
  for (const v1::EpochProgress& begun : progress.epochs()) {
    if (begun.data_epoch() >= examples_.size()) continue;
    examples_[begun.data_epoch()] = begun.examples();
    rest -= std::min(rest, begun.examples());
  }
  for (uint32_t epoch = 0; epoch < epochs_done_; ++epoch) examples_[epoch] = rest / epochs_done_;
}

void EpochCounter::CountTask(const Place& place) {
  ++done_[place.epoch];
  while (epochs_done_ < done_.size() && done_[epochs_done_] == tasks_) ++epochs_done_;
}

void EpochCounter::Save(v1::TaskProgress& progress) const {
  progress.set_data_epoch(epochs_done_);
  for (size_t epoch = epochs_done_; epoch < done_.size() && done_[epoch] > 0; ++epoch) {
    v1::EpochProgress& begun = *progress.add_epochs();
    begun.set_data_epoch(static_cast<uint32_t>(epoch));
    begun.set_tasks_done(done_[epoch]);
    begun.set_examples(examples_[epoch]);
  }
}

uint64_t EpochCounter::ExpectedExamples() const {
  if (epochs_done_ > 0) return examples_.front() * done_.size();
  if (unknown_span_ > 0 && measured_span_ == 0) return 0;
  double epoch = known_examples_;
  if (unknown_span_ > 0) epoch += measured_examples_ * (unknown_span_ / measured_span_);
  return static_cast<uint64_t>(epoch * static_cast<double>(done_.size()) + 0.5);
}

}  // namespace capstan::chief
