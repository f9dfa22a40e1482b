#include "chief/work/task_queue.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "capstan/consistency/generation.h"
#include "chief/work/task_limits.h"

namespace capstan::chief {
namespace {

WorkName NameOfStream(StreamId stream) { return {v1::LEASE_KIND_TASK, stream.value}; }

StreamId StreamOfLease(const v1::Lease& lease) {
  return StreamId::Task(lease.data_epoch(), lease.task().index());
}

}  // namespace

TaskQueue::TaskQueue(TaskSequence sequence, uint32_t batch_size)
    : sequence_(std::move(sequence)), batch_size_(batch_size), epochs_(sequence_) {}

std::optional<v1::Lease> TaskQueue::Grant(TrainerId trainer, Generations& generations,
                                          bool returned, const Avoid& avoid) {
  Place place;
  const auto again = std::find_if(returned_.begin(), returned_.end(), [&avoid](const auto& task) {
    return avoid == nullptr || !avoid(NameOfStream(task.first));
  });
  if (returned && again != returned_.end()) {
    place = again->second;
    returned_.erase(again);
  } else {
    if (next_ == sequence_.size()) return std::nullopt;
    place = sequence_.At(next_++);
  }
  Open& open = open_[sequence_.StreamOf(place)];
  open.place = place;
  v1::Lease lease;
  lease.set_kind(v1::LEASE_KIND_TASK);
  ToProto(generations.Next(), *lease.mutable_generation());
  lease.set_trainer(Raw(trainer));
  *lease.mutable_task() = sequence_.task(place);
  lease.set_data_epoch(place.epoch);
  lease.set_first_batch(open.prefix);
  open.generation = lease.generation();
  Add(lease);
  return lease;
}

std::optional<WorkName> TaskQueue::NameOf(std::span<const TrainerId> trainers,
                                          const Generation& generation) {
  const HeldLease* held = leases_.Find(trainers, generation);
  if (held == nullptr) return std::nullopt;
  return NameOfStream(StreamOfLease(held->lease));
}

std::optional<WorkName> TaskQueue::NameOfAdopted(const v1::LeaseReport& report) const {
  if (report.kind() != v1::LEASE_KIND_TASK) return std::nullopt;
  return NameOfStream(StreamId{report.stream()});
}

ReportResult TaskQueue::Report(std::span<const TrainerId> trainers, const v1::LeaseReport& report) {
  ReportResult result;
  HeldLease* held = leases_.Find(trainers, GenerationFromProto(report.generation()));
  if (held == nullptr) return result;
  result.known = true;
  const StreamId stream = StreamOfLease(held->lease);
  result.work = NameOfStream(stream);
  if (const absl::Status numbers = CheckNumbers(held->lease.task(), batch_size_, report);
      !numbers.ok()) {
    result.failure = TaskFailure{std::string(numbers.message()), false, ++open_[stream].failures};
    Return(Take(*held));
    return result;
  }
  TakeInTrained(report, *held, result);
  held->batches_done = std::max(held->batches_done, report.batches_done());
  Open& open = open_[stream];
  if (held->batches_done > open.prefix) {
    open_batches_ += held->batches_done - open.prefix;
    open.prefix = held->batches_done;
  }

  const bool failed = !report.error().empty();
  result.held = !failed && !report.finished() && !report.returned();
  if (result.held) return result;
  if (failed) result.failure = TaskFailure{report.error(), report.bad_data(), ++open.failures};
  const HeldLease gone = Take(*held);
  if (failed || !report.finished()) {
    Return(gone);
  } else {
    Finish(gone, report, result);
  }
  return result;
}

void TaskQueue::Finish(const HeldLease& held, const v1::LeaseReport& report, ReportResult& result) {
  const StreamId stream = StreamOfLease(held.lease);
  const auto open = open_.find(stream);
  const uint64_t examples = report.total_examples();
  epochs_.Done(sequence_, open->second.place, examples);
  open_batches_ -= open->second.prefix;
  open_.erase(open);
  ++done_;
  done_examples_ += examples;
  done_batches_ += report.total_batches();
  v1::StreamClose close;
  close.set_stream(stream.value);
  close.set_batches(report.total_batches());
  result.closes.push_back(std::move(close));
  NoteBadRecords(held.lease.data_epoch(), report, result.bad_records);
}

void TaskQueue::Add(v1::Lease lease) {
  changes_.Note(TrainerId{lease.trainer()});
  leases_.Add(std::move(lease));
}

HeldLease TaskQueue::Take(const HeldLease& held) {
  const TrainerId trainer{held.lease.trainer()};
  changes_.Note(trainer);
  return leases_.Remove(trainer, GenerationFromProto(held.lease.generation()));
}

void TaskQueue::Return(const HeldLease& held) {
  const StreamId stream = StreamOfLease(held.lease);
  returned_[stream] = open_[stream].place;
}

ReportResult TaskQueue::Adopt(const v1::LeaseReport& report) {
  if (report.kind() != v1::LEASE_KIND_TASK || report.trainer() == 0) return {};
  const StreamId stream{report.stream()};
  const std::optional<uint64_t> position = sequence_.PositionOf(stream);
  if (!position || (adopted_below_ && *position >= *adopted_below_)) return {};
  BeginUntil(*position + 1);
  const auto open = open_.find(stream);
  // The task is done, or another trainer holds it.
  if (open == open_.end() || !returned_.contains(stream)) return {};
  const bool old =
      GenerationFromProto(report.generation()) < GenerationFromProto(open->second.generation);
  if (old && !report.finished()) return {};  // Shards refuse its pushes.
  v1::Lease lease;
  lease.set_kind(v1::LEASE_KIND_TASK);
  *lease.mutable_generation() = report.generation();
  lease.mutable_generation()->clear_seal();
  lease.set_trainer(report.trainer());
  *lease.mutable_task() = sequence_.task(open->second.place);
  lease.set_data_epoch(open->second.place.epoch);
  lease.set_first_batch(open->second.prefix);
  open->second.generation = lease.generation();
  returned_.erase(stream);
  Add(std::move(lease));
  const TrainerId trainer{report.trainer()};
  ReportResult result = Report({&trainer, 1}, report);
  result.examples = 0;  // An earlier chief has counted an unknown number of them.
  result.loss_sum = 0;
  return result;
}

void TaskQueue::AdoptOnlyBegun() {
  if (!adopted_below_) adopted_below_ = next_;
}

// Marks all places below `position` as begun: an earlier chief has leased them, and their leases
// may be adopted.
void TaskQueue::BeginUntil(uint64_t position) {
  for (; next_ < position; ++next_) {
    const Place place = sequence_.At(next_);
    const StreamId stream = sequence_.StreamOf(place);
    open_[stream].place = place;
    returned_[stream] = place;
  }
}

void TaskQueue::Save(v1::TaskProgress& progress) const {
  progress.set_begun(next_);
  progress.set_done_examples(done_examples_);
  progress.set_done_batches(done_batches_);
  for (const auto& [stream, open] : open_) {
    v1::OpenTask& task = *progress.add_open_tasks();
    task.set_data_epoch(open.place.epoch);
    task.set_task(open.place.index);
    task.set_batches(open.prefix);
    *task.mutable_generation() = open.generation;
  }
  epochs_.Save(progress);
}

void TaskQueue::Restore(const v1::TaskProgress& progress) {
  open_.clear();
  open_batches_ = 0;
  returned_.clear();
  next_ = std::min(progress.begun(), sequence_.size());
  std::vector<uint64_t> done = TasksBelow(next_);
  for (const v1::OpenTask& task : progress.open_tasks()) {
    const Place place{task.data_epoch(), task.task()};
    const StreamId stream = sequence_.StreamOf(place);
    const std::optional<uint64_t> position = sequence_.PositionOf(stream);
    if (!position || *position >= next_ || returned_.contains(stream)) continue;
    returned_[stream] = place;
    open_[stream] = {.place = place, .prefix = task.batches(), .generation = task.generation()};
    open_batches_ += task.batches();
    --done[place.epoch];
  }
  done_ = next_ - open_.size();
  done_examples_ = progress.done_examples();
  done_batches_ = progress.done_batches();
  const auto visit_done = [this](absl::FunctionRef<void(const Place&)> visit) {
    for (uint64_t position = 0; position < next_; ++position) {
      const Place place = sequence_.At(position);
      if (!open_.contains(sequence_.StreamOf(place))) visit(place);
    }
  };
  epochs_ = EpochCounter(sequence_);
  epochs_.Restore(sequence_, std::move(done), visit_done, progress);
}

// Returns how many tasks of each epoch are before `position` in the sequence.
std::vector<uint64_t> TaskQueue::TasksBelow(uint64_t position) const {
  const uint64_t tasks = sequence_.tasks().size();
  std::vector<uint64_t> below(sequence_.epochs(), 0);
  for (uint64_t& count : below) {
    count = std::min(position, tasks);
    position -= count;
  }
  return below;
}

bool TaskQueue::IsDone(StreamId stream) {
  const std::optional<uint64_t> position = sequence_.PositionOf(stream);
  return position && *position < next_ && !open_.contains(stream);
}

void TaskQueue::Release(TrainerId trainer) {
  changes_.Note(trainer);
  for (const HeldLease& held : leases_.RemoveAll(trainer)) Return(held);
}

void TaskQueue::ReleaseAll() {
  for (const HeldLease& held : leases_.Clear()) {
    changes_.Note(TrainerId{held.lease.trainer()});
    Return(held);
  }
}

WorkTotals TaskQueue::totals() const {
  WorkTotals totals;
  totals.examples = done_examples_ + open_batches_ * batch_size_;
  totals.steps = done_batches_ + open_batches_;
  totals.total = sequence_.size();
  totals.done = done_;
  totals.doing = leases_.size();
  totals.todo = todo();
  totals.epochs_done = epochs_.epochs_done();
  return totals;
}

}  // namespace capstan::chief
