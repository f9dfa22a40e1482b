#include "chief/work/epoch_counter.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace capstan::chief {
namespace {

// Returns the bytes or records of the range; 1 if it is open-ended.
double SpanOf(const TaskRange& range) {
  if (range.end == kToTheEnd || range.end <= range.begin) return 1;
  return static_cast<double>(range.end - range.begin);
}

// Returns the weight of a task of unknown size; 0 if its size is known.
double UnknownSpan(const std::optional<TaskRange>& whole) {
  return whole && whole->expected_records == 0 ? SpanOf(*whole) : 0;
}

bool AreByRecords(const TaskRanges& ranges) {
  return std::all_of(ranges.runs().begin(), ranges.runs().end(),
                     [](const v1::TaskRun& run) { return run.by_records() && !run.open(); });
}

}  // namespace

EpochCounter::EpochCounter(const TaskSequence& sequence)
    : tasks_(sequence.tasks().size()),
      by_records_(AreByRecords(sequence.tasks().ranges())),
      done_(sequence.epochs(), 0),
      examples_(sequence.epochs(), 0),
      measured_(sequence.tasks().size(), false),
      known_examples_(static_cast<double>(sequence.tasks().mixed_records())) {
  for (uint32_t i = 0; i < tasks_; ++i) {
    const std::optional<TaskRange> whole = sequence.tasks().WholeRange(i);
    if (whole) known_examples_ += static_cast<double>(whole->expected_records);
    unknown_span_ += UnknownSpan(whole);
  }
}

void EpochCounter::Done(const TaskSequence& sequence, const Place& place, uint64_t examples) {
  ++done_[place.epoch];
  CountEpochs();
  examples_[place.epoch] += examples;
  const uint32_t drawn = sequence.Drawn(place);
  if (measured_[drawn]) return;
  measured_[drawn] = true;
  const double span = UnknownSpan(sequence.tasks().WholeRange(drawn));
  if (span == 0) {
    const uint64_t expected = sequence.tasks().ExpectedRecords(place.epoch, drawn);
    known_examples_ += static_cast<double>(examples) - static_cast<double>(expected);
    return;
  }
  measured_examples_ += static_cast<double>(examples);
  measured_span_ += span;
}

void EpochCounter::Restore(const TaskSequence& sequence, std::vector<uint64_t> done,
                           Visit visit_done, const v1::TaskProgress& progress) {
  done_ = std::move(done);
  done_.resize(examples_.size(), 0);
  CountEpochs();
  const auto examples = static_cast<double>(progress.done_examples());
  if (unknown_span_ > 0) {
    double known = 0;
    visit_done([&](const Place& place) {
      const uint32_t drawn = sequence.Drawn(place);
      measured_span_ += UnknownSpan(sequence.tasks().WholeRange(drawn));
      known += static_cast<double>(sequence.tasks().ExpectedRecords(place.epoch, drawn));
    });
    if (measured_span_ > 0) measured_examples_ = std::max(0.0, examples - known);
  }
  uint64_t rest = progress.done_examples();
  for (const v1::EpochProgress& begun : progress.epochs()) {
    if (begun.data_epoch() >= examples_.size()) continue;
    examples_[begun.data_epoch()] = begun.examples();
    rest -= std::min(rest, begun.examples());
  }
  for (uint32_t epoch = 0; epoch < epochs_done_; ++epoch) examples_[epoch] = rest / epochs_done_;
}

void EpochCounter::CountEpochs() {
  while (epochs_done_ < done_.size() && done_[epochs_done_] == tasks_) ++epochs_done_;
}

void EpochCounter::Save(v1::TaskProgress& progress) const {
  progress.set_data_epoch(epochs_done_);
  for (size_t epoch = epochs_done_; epoch < done_.size(); ++epoch) {
    // If there are more workers than tasks, an epoch may overtake the one before it.
    if (done_[epoch] == 0) continue;
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
