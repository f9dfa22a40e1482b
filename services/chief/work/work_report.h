// The result of taking in a report of a lease, in TaskQueue, LaneTable or Evaluations.
#ifndef CAPSTAN_CHIEF_WORK_WORK_REPORT_H_
#define CAPSTAN_CHIEF_WORK_WORK_REPORT_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capstan/v1/ps.pb.h"
#include "chief/work/accusations.h"
#include "chief/work/bad_record_count.h"

namespace capstan::chief {

// A task that has failed.
struct TaskFailure {
  std::string error;      // The worker's message, with file and record.
  bool bad_data = false;  // The worker says that no other worker could do the task either.
  int attempts = 0;       // How often the task has failed, this time included.
};

// Adds the bad records of a task that is done to `bad_records`, if it has any. `done` is a
// LeaseReport or a LaneTaskDone.
template <typename Done>
void NoteBadRecords(uint32_t epoch, const Done& done, std::vector<TaskBadRecords>& bad_records) {
  if (done.bad_records() == 0) return;
  const auto& examples = done.bad_record_examples();
  bad_records.push_back({epoch, done.bad_records(), {examples.begin(), examples.end()}});
}

// Returns true if the trainer that asks for work should not get this piece of work.
using Avoid = std::function<bool(const WorkName&)>;

struct ReportResult {
  bool held = false;   // The trainer still holds the lease: it did not finish, fail or return it.
  bool known = false;  // It held the lease when it reported. If false, no other field is set.
  WorkName work;       // The work of the lease.
  uint64_t examples = 0;                    // Newly settled since the last report of this lease.
  double loss_sum = 0;                      // The sum of their losses.
  std::vector<v1::StreamClose> closes;      // Streams of tasks that are done.
  std::vector<TaskBadRecords> bad_records;  // The bad records of the tasks that have some.
  std::optional<TaskFailure> failure;
};

// Writes to `result` what `report` adds to earlier reports of its lease, and updates `heard`: the
// `examples` and `loss_sum` reported so far under this generation.
template <typename Heard>
void TakeInTrained(const v1::LeaseReport& report, Heard& heard, ReportResult& result) {
  result.examples = report.examples() - std::min(heard.examples, report.examples());
  result.loss_sum = report.loss_sum() - heard.loss_sum;
  heard.examples = std::max(heard.examples, report.examples());
  heard.loss_sum = report.loss_sum();
}

// How much work is done. Each record counts once, no matter how often its task was leased.
struct WorkTotals {
  uint64_t examples = 0;
  uint64_t steps = 0;  // Tasks: settled batches. Lanes: closed rounds, as far as known.
  uint64_t todo = 0;
  uint64_t doing = 0;
  uint64_t done = 0;
  uint64_t total = 0;
  uint32_t epochs_done = 0;  // How many leading epochs are complete.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_WORK_REPORT_H_
