// Counts how many tasks of each epoch are done, and estimates how many examples the job has.
#ifndef CAPSTAN_CHIEF_WORK_EPOCH_COUNTER_H_
#define CAPSTAN_CHIEF_WORK_EPOCH_COUNTER_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "capstan/v1/checkpoint.pb.h"
#include "chief/work/task_sequence.h"

namespace capstan::chief {

// Thread-compatible.
class EpochCounter {
 public:
  explicit EpochCounter(const TaskSequence& sequence);

  // The task at `place` is done, and had this many examples.
  void Done(const TaskSequence& sequence, const Place& place, uint64_t examples);

  // A function that calls its argument with each of some places.
  using Visit = absl::FunctionRef<void(absl::FunctionRef<void(const Place&)>)>;

  // Continues from the `progress` of a checkpoint or the chief's state. `done` says how many tasks
  // of each epoch are done. The progress has the total of their examples, but not the size of each
  // task. `visit_done` visits the tasks that are done; it is called only if the data do not tell
  // the size of every task. REQUIRES: Done was not called yet.
  void Restore(const TaskSequence& sequence, std::vector<uint64_t> done, Visit visit_done,
               const v1::TaskProgress& progress);

  // Writes how many epochs are complete, and how much of the unfinished ones is done.
  void Save(v1::TaskProgress& progress) const;

  uint32_t epochs_done() const { return epochs_done_; }

  // Returns true if the data tell how many examples each task has. For text they do not: its
  // examples are estimated from a sample.
  bool counted() const { return by_records_ && unknown_span_ == 0; }

  // Estimates the examples of the whole job: the tasks of known size, plus for the others the mean
  // of the finished tasks, per byte or per task. Returns 0 if nothing is known yet.
  uint64_t ExpectedExamples() const;

 private:
  void CountEpochs();

  size_t tasks_;  // How many tasks an epoch has.
  bool by_records_;
  std::vector<uint64_t> done_;      // How many tasks of each epoch are done,
  std::vector<uint64_t> examples_;  // and how many examples these had.
  std::vector<bool> measured_;      // Whether the task's size was measured, by TaskSequence::Drawn.
  uint32_t epochs_done_ = 0;
  double known_examples_ = 0;     // Examples of the tasks of known size, in one epoch.
  double measured_examples_ = 0;  // Examples of the finished tasks whose size was not known before,
  double measured_span_ = 0;      // the weight of these tasks,
  double unknown_span_ = 0;       // and the weight of all tasks of unknown size.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_EPOCH_COUNTER_H_
