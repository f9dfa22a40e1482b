#include "chief/task_queue.h"

#include <algorithm>
#include <utility>

namespace capstan::chief {

TaskQueue::TaskQueue(TaskSequence sequence, uint32_t batch_size)
    : sequence_(std::move(sequence)), batch_size_(batch_size), epochs_(sequence_) {}

std::optional<v1::Lease> TaskQueue::Grant(MemberId member, Generations& generations) {
  Place place;
  if (!returned_.empty()) {
    place = returned_.begin()->second;
    returned_.erase(returned_.begin());
  } else {
    if (next_ == sequence_.size()) return std::nullopt;
    place = sequence_.At(next_++);
  }
  Open& open = open_[sequence_.StreamOf(place)];
  open.place = place;
  v1::Lease lease;
  lease.set_kind(v1::LEASE_KIND_TASK);
  *lease.mutable_generation() = ToProto(generations.Next());
  lease.set_member(Raw(member));
  *lease.mutable_task() = sequence_.task(place);
  lease.set_data_epoch(place.epoch);
  lease.set_first_batch(open.prefix);
  leases_.Add(lease);
  return lease;
}

ReportOutcome TaskQueue::Report(std::span<const MemberId> members, const v1::LeaseReport& report) {
  ReportOutcome outcome;
  HeldLease* held = leases_.Find(members, FromProto(report.generation()));
  if (held == nullptr) return outcome;
  outcome.known = true;
  outcome.examples = report.examples() - std::min(held->examples, report.examples());
  outcome.loss_sum = report.loss_sum() - held->loss_sum;
  held->examples = std::max(held->examples, report.examples());
  held->loss_sum = report.loss_sum();
  held->batches_done = std::max(held->batches_done, report.batches_done());
  Open& open = open_[StreamId::Task(held->lease.data_epoch(), held->lease.task().index())];
  open.prefix = std::max(open.prefix, held->batches_done);

  const bool failed = !report.error().empty();
  outcome.held = !failed && !report.finished() && !report.returned();
  if (outcome.held) return outcome;
  if (failed) outcome.failure = TaskFailure{report.error(), report.bad_data(), ++open.failures};
  const HeldLease gone =
      leases_.Remove(MemberId{held->lease.member()}, FromProto(report.generation()));
  if (failed || !report.finished()) {
    Return(gone);
  } else {
    Finish(gone, report, outcome);
  }
  return outcome;
}

void TaskQueue::Finish(const HeldLease& held, const v1::LeaseReport& report,
                       ReportOutcome& outcome) {
  const StreamId stream = StreamId::Task(held.lease.data_epoch(), held.lease.task().index());
  const auto open = open_.find(stream);
  const uint64_t examples = report.total_examples();
  epochs_.Done(sequence_, open->second.place, examples);
  open_.erase(open);
  ++done_;
  done_examples_ += examples;
  done_batches_ += report.total_batches();
  v1::StreamClose close;
  close.set_stream(stream.value);
  close.set_batches(report.total_batches());
  outcome.closes.push_back(std::move(close));
}

void TaskQueue::Return(const HeldLease& held) {
  const StreamId stream = StreamId::Task(held.lease.data_epoch(), held.lease.task().index());
  returned_[stream] = open_[stream].place;
}

void TaskQueue::Release(MemberId member) {
  for (const HeldLease& held : leases_.RemoveAll(member)) Return(held);
}

void TaskQueue::ReleaseAll() {
  for (const HeldLease& held : leases_.Clear()) Return(held);
}

WorkTotals TaskQueue::totals() const {
  WorkTotals totals;
  totals.examples = done_examples_;
  totals.steps = done_batches_;
  for (const auto& [stream, open] : open_) {
    totals.examples += open.prefix * batch_size_;
    totals.steps += open.prefix;
  }
  totals.total = sequence_.size();
  totals.done = done_;
  totals.doing = leases_.size();
  totals.todo = todo();
  totals.epochs_done = epochs_.epochs_done();
  return totals;
}

}  // namespace capstan::chief
