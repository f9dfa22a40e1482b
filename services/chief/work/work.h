// The training work of a job: tasks if all its parts are asynchronous, otherwise lanes.
#ifndef CAPSTAN_CHIEF_WORK_WORK_H_
#define CAPSTAN_CHIEF_WORK_WORK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "chief/state/chief_options.h"
#include "chief/work/holder_changes.h"
#include "chief/work/lane_table.h"
#include "chief/work/task_queue.h"
#include "chief/work/task_sequence.h"
#include "chief/work/work_report.h"

namespace capstan::chief {

// The job's training tasks, in the order in which they are trained.
TaskSequence SequenceOf(const JobPlan& plan);

// Returns the TaskProgress.tasks_fingerprint of the job's tasks.
uint64_t TasksFingerprint(const JobPlan& plan);

// Thread-compatible.
class Work {
 public:
  explicit Work(const JobPlan& plan);

  TaskQueue* tasks() { return std::get_if<TaskQueue>(&work_); }
  LaneTable* lanes() { return std::get_if<LaneTable>(&work_); }
  bool has_lanes() const { return std::holds_alternative<LaneTable>(work_); }

  // These forward to the function of the same name of TaskQueue or LaneTable.
  ReportResult Report(std::span<const TrainerId> trainers, const v1::LeaseReport& report);
  ReportResult Adopt(const v1::LeaseReport& report);
  // See TaskQueue. Does nothing in a job with lanes.
  void AdoptOnlyBegun();
  std::optional<WorkName> NameOf(std::span<const TrainerId> trainers, const Generation& generation);
  // Returns the work of the lease in `report`, which may be adopted. Returns nullopt if it is not
  // of this job's kind of training work, or names a lane that the job does not have.
  std::optional<WorkName> NameOfAdopted(const v1::LeaseReport& report) const;
  void Save(v1::TaskProgress& progress) const;
  void Restore(const v1::TaskProgress& progress);
  bool IsDone(StreamId stream);
  void Release(TrainerId trainer);
  void ReleaseAll();
  std::vector<v1::Lease> LeasesOf(TrainerId trainer) const;
  bool Holds(TrainerId trainer) const;
  // Records the trainers for which the result of Holds may have changed.
  HolderChanges& changes();
  bool all_done() const;
  WorkTotals totals() const;
  uint64_t ExpectedExamples() const;
  bool counted() const;             // See EpochCounter.
  uint64_t batches_a_step() const;  // The number of lanes; 1 without lanes.

 private:
  Work(const JobPlan& plan, TaskSequence sequence);

  uint64_t fingerprint_;
  std::variant<TaskQueue, LaneTable> work_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_WORK_H_
