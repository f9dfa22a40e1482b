// The order in which a job's tasks are trained: epoch after epoch without a gap, and each epoch in
// an order of its own that is drawn with the job's seed. It is a pure function of the seed and the
// tasks, so a chief that restarts gets the same sequence. The records that make up a task may also
// be drawn anew for every epoch.
//
// Tasks are numbered in that order, so that neighbouring streams are closed at about the same time.
// A ledger then needs one interval for a million finished tasks, and a few more for those under
// way.
#ifndef CAPSTAN_CHIEF_WORK_TASK_SEQUENCE_H_
#define CAPSTAN_CHIEF_WORK_TASK_SEQUENCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "capstan/base/ids.h"
#include "capstan/data/tasks/task_mix.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

struct SequenceOptions {
  uint64_t seed = 0;
  bool shuffle = false;
  uint32_t epochs = 1;
  // False: tasks are numbered in the order of the data (DataSpec.numbered_in_order).
  bool numbered_in_order = true;
};

// One place of the sequence.
struct Place {
  uint32_t epoch = 0;
  uint32_t index = 0;  // The number of the task in its epoch.
};

// Thread-compatible.
class TaskSequence {
 public:
  TaskSequence(SequenceOptions options, TaskMix tasks)
      : options_(options), tasks_(std::move(tasks)) {}

  uint64_t size() const { return uint64_t{options_.epochs} * tasks_.size(); }
  uint32_t epochs() const { return options_.epochs; }
  const TaskMix& tasks() const { return tasks_; }  // The same in every epoch.
  v1::Task task(const Place& place) const;
  // Returns which of tasks() is at `place`. REQUIRES: the job has the place.
  uint32_t Drawn(const Place& place) const;

  // REQUIRES: position < size().
  Place At(uint64_t position);
  // Returns the position of the stream's task; nullopt if the job has no such stream.
  std::optional<uint64_t> PositionOf(StreamId stream);

  // A hash of the tasks: two sequences with the same hash and the same options are the same.
  uint64_t fingerprint() const;

  StreamId StreamOf(const Place& place) const { return StreamId::Task(place.epoch, place.index); }

 private:
  const std::vector<uint32_t>& OrderOf(uint32_t epoch);
  std::vector<uint32_t> MakeOrder(uint32_t epoch) const;

  SequenceOptions options_;
  TaskMix tasks_;
  // The orders of a few epochs, computed when needed; used if tasks are numbered in the order of
  // the data.
  std::map<uint32_t, std::vector<uint32_t>> orders_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_TASK_SEQUENCE_H_
