// Counts how many tasks of each epoch are done, and what is known of the sizes of tasks.
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

  // The task at `place` is done, and had so many examples.
  void Done(const TaskSequence& sequence, const Place& place, uint64_t examples);

  // Calls its argument with each of some places.
  using Visit = absl::FunctionRef<void(absl::FunctionRef<void(const Place&)>)>;

  // Goes on from the `progress` of a checkpoint or the chief's state, by which `done` tasks of each
  // epoch are done. It tells no sizes of single tasks, only their sum. `visit_done` visits the
  // tasks that are done; it is called only if the data do not tell the size of every task.
  // REQUIRES: Done was not called yet.
  void Restore(const TaskSequence& sequence, std::vector<uint64_t> done, Visit visit_done,
               const v1::TaskProgress& progress);

  // Writes how many epochs are complete, and what is done of those that are begun.
  void Save(v1::TaskProgress& progress) const;

  uint32_t epochs_done() const { return epochs_done_; }

  // Returns true if the data tell how many examples each task has. Text does not: its examples are
  // estimated from a sample.
  bool counted() const { return by_records_ && unknown_span_ == 0; }

  // Estimates the examples of the whole job: those of tasks of known size, and for the others the
  // mean of the tasks that are done, by byte or by task. 0: nothing is known yet.
  uint64_t ExpectedExamples() const;

 private:
  void CountEpochs();

  size_t tasks_;  // How many tasks an epoch has.
  bool by_records_;
  std::vector<uint64_t> done_;      // Tasks of each epoch, and
  std::vector<uint64_t> examples_;  // their examples.
  std::vector<bool> measured_;      // By TaskSequence::Drawn.
  uint32_t epochs_done_ = 0;
  double known_examples_ = 0;     // In tasks of known size, of one epoch.
  double measured_examples_ = 0;  // Records of tasks whose size was unknown, and
  double measured_span_ = 0;      // their weight,
  double unknown_span_ = 0;       // and that of all such tasks.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_EPOCH_COUNTER_H_
