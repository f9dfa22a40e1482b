// Counts what is known of the tasks' sizes and how many of each epoch are done.
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

  // A task of an epoch is done and had so many examples.
  void Done(const TaskSequence& sequence, const Place& place, uint64_t examples);

  // Visits places.
  using Visit = absl::FunctionRef<void(absl::FunctionRef<void(const Place&)>)>;

  // What a checkpoint says, and how many tasks of each epoch are done by it; before any Done. Sizes
  // of single tasks are not known then, their mean is. `visit_done` names those that are done; it
  // is asked only where the data do not tell the size of every task.
  void Restore(const TaskSequence& sequence, std::vector<uint64_t> done, Visit visit_done,
               const v1::TaskProgress& progress);

  // Epochs begun and not complete, and the number of those that are.
  void Save(v1::TaskProgress& progress) const;

  uint32_t epochs_done() const { return epochs_done_; }

  // The data tell how many examples each task has. Text does not: that is estimated from a sample.
  bool counted() const { return by_records_ && unknown_span_ == 0; }

  // Examples of the whole job: known sizes, and for the others the mean of those measured, by bytes
  // or by task. 0: nothing is known yet.
  uint64_t ExpectedExamples() const;

 private:
  void CountEpochs();

  size_t tasks_;  // So many tasks does an epoch have.
  bool by_records_;
  std::vector<uint64_t> done_;      // Tasks of each epoch, and
  std::vector<uint64_t> examples_;  // their examples.
  std::vector<bool> measured_;      // By TaskSequence::Drawn.
  uint32_t epochs_done_ = 0;
  double known_examples_ = 0;     // Over one epoch.
  double measured_examples_ = 0;  // Records of tasks whose size was unknown, and
  double measured_span_ = 0;      // their weight,
  double unknown_span_ = 0;       // and that of all such tasks.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_EPOCH_COUNTER_H_
