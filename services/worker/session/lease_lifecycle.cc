#include "worker/session/lease_lifecycle.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/consistency/generation.h"

namespace capstan::worker {

LeaseLifecycle::LeaseLifecycle(v1::Lease lease, uint64_t max_rounds,
                               std::unique_ptr<RunnerMachine> machine, TasksRead& tasks)
    : lease_(std::move(lease)),
      generation_(SealedGenerationFromProto(lease_.generation())),
      max_rounds_(max_rounds),
      machine_(std::move(machine)),
      tasks_(tasks) {}

LeaseLifecycle::LeaseLifecycle(const LeaseLifecycle& other, TasksRead& tasks)
    : lease_(other.lease_),
      generation_(other.generation_),
      max_rounds_(other.max_rounds_),
      machine_(other.machine_->Clone()),
      tasks_(tasks),
      tasks_done_(other.tasks_done_),
      round_(other.round_),
      closed_(other.closed_),
      news_(other.news_),
      machine_over_(other.machine_over_),
      over_(other.over_),
      lost_(other.lost_),
      returned_(other.returned_),
      failure_(other.failure_),
      bad_data_(other.bad_data_) {}

void LeaseLifecycle::Deliver(Event event, absl::FunctionRef<void(const Event&)> handle) {
  events_.push_back(std::move(event));
  if (delivering_) return;
  delivering_ = true;
  while (!events_.empty() && !machine_over_) {
    const Event next = std::move(events_.front());
    events_.pop_front();
    handle(next);
  }
  delivering_ = false;
}

void LeaseLifecycle::OnOpened(const OpenDone& done) {
  if (!done.status.ok()) return;
  const uint64_t closed = done.closed.round;
  news_ = news_ || (max_rounds_ > 0 && closed >= max_rounds_ && round_ <= max_rounds_);
  round_ = std::max(round_, closed + 1);
  // A runner that begins when the lane has ended hears of no open round, but has tasks to tell of:
  // a chief that began anew may not know them.
  if (done.answer != v1::OpenRoundReply::ANSWER_OPEN &&
      done.answer != v1::OpenRoundReply::ANSWER_ENDED) {
    return;
  }
  closed_ = std::max(closed_, done.cursor);
  news_ = news_ || tasks_.HasDone(closed_);
}

bool LeaseLifecycle::OnFinished(const Finished& finished) {
  machine_over_ = true;
  lost_ = finished.why == Finished::Why::kLost;
  returned_ = finished.why == Finished::Why::kReturned;
  if (finished.why == Finished::Why::kFailed) failure_.Update(finished.status);
  // The machine may be done before this worker has read the lane up to its end: the coordinator may
  // know the end from a former runner.
  const bool reads_on = lease_.kind() == v1::LEASE_KIND_LANE &&
                        finished.why == Finished::Why::kDone && machine_->progress().total_batches;
  over_ = !reads_on;
  return over_;
}

void LeaseLifecycle::Fail(const absl::Status& why, bool bad_data) {
  failure_ = why;
  bad_data_ = bad_data;
  machine_over_ = true;
  over_ = true;
}

void LeaseLifecycle::OnExtended(const v1::Lease& lease) {
  if (lease.lane_tasks().empty()) return;
  std::erase_if(tasks_done_, [&](const v1::LaneTaskDone& task) {
    return task.ordinal() < lease.lane_tasks(0).ordinal();
  });
}

void LeaseLifecycle::FillTask(const FedTask& task, v1::LeaseReport& report) {
  report.set_total_examples(task.examples);
  if (task.bad_records == nullptr) return;
  report.set_bad_records(task.bad_records->count());
  const std::vector<std::string>& examples = task.bad_records->examples();
  report.mutable_bad_record_examples()->Assign(examples.begin(), examples.end());
}

v1::LeaseReport LeaseLifecycle::Report() {
  const RunnerProgress progress = machine_->progress();
  v1::LeaseReport report;
  news_ = false;
  ToProto(generation_, *report.mutable_generation());
  report.set_kind(lease_.kind());
  report.set_timeline(lease_.timeline());
  report.set_trainer(lease_.trainer());
  report.set_lane(lease_.lane());
  report.set_batches_done(progress.batches_done);
  report.set_examples(progress.examples);
  report.set_loss_sum(progress.loss_sum);
  report.set_finished(over_ && !lost_ && !returned_ && failure_.ok());
  // A lost lease is reported as returned: it may be held by nobody, and a chief that has taken over
  // and adopted it has to hear that this worker does not work on it.
  report.set_returned(returned_ || lost_);
  if (!failure_.ok()) report.set_error(std::string(failure_.message()));
  report.set_bad_data(bad_data_);
  if (progress.total_batches) report.set_total_batches(*progress.total_batches);
  if (lease_.kind() == v1::LEASE_KIND_TASK) {
    report.set_stream(StreamId::Task(lease_.data_epoch(), lease_.task().index()).value);
    if (report.finished()) FillTask(tasks_.OnlyTask(), report);
  }
  if (lease_.kind() != v1::LEASE_KIND_LANE) return report;
  // While the lane goes on, only batches of closed rounds count: a checkpoint of the last closed
  // round does not hold batches that are only staged.
  const uint64_t cursor = report.finished() ? progress.batches_done : closed_;
  for (v1::LaneTaskDone& task : tasks_.TakeDone(cursor)) tasks_done_.push_back(std::move(task));
  *report.mutable_lane_tasks_done() = {tasks_done_.begin(), tasks_done_.end()};
  report.set_round(round_);
  report.set_lane_tasks_known(tasks_.tasks_known());
  return report;
}

std::string LeaseLifecycle::DebugString() const {
  return absl::StrCat("g", generation_.term, ".", generation_.count, " r", round_, " closed ",
                      closed_, " done ", tasks_done_.size(), news_ ? " news" : "",
                      over_ ? " over" : "", lost_ ? " lost" : "", returned_ ? " returned" : "",
                      failure_.ok() ? "" : " failed", " ", machine_->DebugString());
}

}  // namespace capstan::worker
