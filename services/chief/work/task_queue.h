// The tasks of an asynchronous job. They are leased one by one in the order of the sequence. A task
// that is returned to the queue is leased again from its first unsettled batch. Each is done once.
#ifndef CAPSTAN_CHIEF_WORK_TASK_QUEUE_H_
#define CAPSTAN_CHIEF_WORK_TASK_QUEUE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "capstan/base/ids.h"
#include "capstan/v1/checkpoint.pb.h"
#include "capstan/v1/chief.pb.h"
#include "chief/work/epoch_counter.h"
#include "chief/work/generations.h"
#include "chief/work/holder_changes.h"
#include "chief/work/lease_book.h"
#include "chief/work/task_sequence.h"
#include "chief/work/work_report.h"

namespace capstan::chief {

// Thread-compatible.
class TaskQueue {
 public:
  TaskQueue(TaskSequence sequence, uint32_t batch_size);

  // Leases a task to `trainer`: if `returned` is true, the first returned task that `avoid` does
  // not exclude, if any; otherwise the next task of the sequence. Returns nullopt if there is none.
  std::optional<v1::Lease> Grant(TrainerId trainer, Generations& generations, bool returned = true,
                                 const Avoid& avoid = nullptr);

  // Returns the work of the lease with `generation`; nullopt if none of `trainers` holds it.
  std::optional<WorkName> NameOf(std::span<const TrainerId> trainers, const Generation& generation);
  // Returns the work of a lease that may be adopted (see Adopt); nullopt if it is not one of a
  // task.
  std::optional<WorkName> NameOfAdopted(const v1::LeaseReport& report) const;

  // Takes in a report by the worker of `trainers`. Ignored unless one of them holds the lease. A
  // report with numbers that the task cannot have counts as a failure.
  ReportResult Report(std::span<const TrainerId> trainers, const v1::LeaseReport& report);

  // Takes in a report of a lease that an earlier chief has granted and this one does not know. If
  // the report says that the task is finished, it is done; otherwise the trainer holds the lease
  // from now on. Ignored if the task is done, if another trainer holds it, or if the report is not
  // of a finished task and this has been leased again in a later generation.
  ReportResult Adopt(const v1::LeaseReport& report);
  // From now on Adopt ignores tasks that are not known to have been begun.
  void AdoptOnlyBegun();

  // Write to and read from the progress in a checkpoint or the chief's state. Restore REQUIRES that
  // nothing is leased.
  void Save(v1::TaskProgress& progress) const;
  void Restore(const v1::TaskProgress& progress);
  // Returns true if the task of `stream` is done.
  bool IsDone(StreamId stream);

  void Release(TrainerId trainer);  // Returns all its tasks to the queue.
  void ReleaseAll();

  std::span<const HeldLease> LeasesOf(TrainerId trainer) const { return leases_.Of(trainer); }
  uint64_t todo() const { return returned_.size() + sequence_.size() - next_; }
  bool all_done() const { return done_ == sequence_.size(); }
  WorkTotals totals() const;
  size_t holders() const { return leases_.holders(); }  // How many trainers hold a task.
  HolderChanges& changes() { return changes_; }         // See Work.
  const EpochCounter& epochs() const { return epochs_; }

 private:
  // A stream that has been begun and is not done.
  struct Open {
    Place place;
    uint64_t prefix = 0;
    int failures = 0;
    v1::Generation generation;  // That of its latest lease.
  };

  void Add(v1::Lease lease);
  HeldLease Take(const HeldLease& held);
  void Return(const HeldLease& held);
  void BeginUntil(uint64_t position);
  std::vector<uint64_t> TasksBelow(uint64_t position) const;
  void Finish(const HeldLease& held, const v1::LeaseReport& report, ReportResult& result);

  TaskSequence sequence_;
  uint64_t batch_size_;
  uint64_t next_ = 0;  // The position in the sequence of the first task that was never leased.
  std::optional<uint64_t> adopted_below_;  // If set, Adopt takes only positions below it.
  std::map<StreamId, Open> open_;
  uint64_t open_batches_ = 0;           // The sum of the prefixes in open_.
  std::map<StreamId, Place> returned_;  // The streams of open_ that nobody holds.
  LeaseBook leases_;
  HolderChanges changes_;
  EpochCounter epochs_;
  uint64_t done_ = 0;
  uint64_t done_examples_ = 0;
  uint64_t done_batches_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_TASK_QUEUE_H_
