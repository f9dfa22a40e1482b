// What a report of a lease meant to the work: the common tongue of TaskQueue, LaneTable and
// Evaluations.
#ifndef CAPSTAN_CHIEF_WORK_WORK_REPORT_H_
#define CAPSTAN_CHIEF_WORK_WORK_REPORT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capstan/v1/ps.pb.h"
#include "chief/work/accusations.h"
#include "chief/work/bad_record_count.h"

namespace capstan::chief {

// A task that could not be done.
struct TaskFailure {
  std::string error;      // The worker's words: file and record.
  bool bad_data = false;  // No other worker can do better.
  int attempts = 0;       // How often this task was tried, this time counted.
};

// Takes over what a LeaseReport or LaneTaskDone says of a task that is done.
template <typename Done>
void NoteBadRecords(uint32_t epoch, const Done& done, std::vector<TaskBadRecords>& bad_records) {
  if (done.bad_records() == 0) return;
  const auto& examples = done.bad_record_examples();
  bad_records.push_back({epoch, done.bad_records(), {examples.begin(), examples.end()}});
}

// Returns whether somebody who asks for work is not to get this one.
using Avoid = std::function<bool(const WorkName&)>;

struct ReportResult {
  bool held = false;   // The reporter holds the lease still; false also after a finish or return.
  bool known = false;  // It held it when it reported; otherwise nothing else here is set.
  WorkName work;       // What the lease is of.
  uint64_t examples = 0;  // Newly acknowledged since the last report under this generation.
  double loss_sum = 0;    // The sum of their losses.
  std::vector<v1::StreamClose> closes;      // Streams of tasks that are done.
  std::vector<TaskBadRecords> bad_records;  // The bad records of the tasks that have some.
  std::optional<TaskFailure> failure;
};

// How much has been done, each record counted once however often its task was leased.
struct WorkTotals {
  uint64_t examples = 0;
  uint64_t steps = 0;  // Tasks: batches acknowledged. Lanes: rounds closed, as far as is known.
  uint64_t todo = 0;
  uint64_t doing = 0;
  uint64_t done = 0;
  uint64_t total = 0;
  uint32_t epochs_done = 0;  // Leading epochs that are complete.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_WORK_REPORT_H_
