// Counts the records of the training data that cannot be parsed. Each counts once, no matter how
// often its task is leased and how many epochs read it.
#ifndef CAPSTAN_CHIEF_WORK_BAD_RECORD_COUNT_H_
#define CAPSTAN_CHIEF_WORK_BAD_RECORD_COUNT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "capstan/v1/checkpoint.pb.h"

namespace capstan::chief {

// The bad records of a task that is done.
struct TaskBadRecords {
  uint32_t epoch = 0;
  uint64_t count = 0;
  std::vector<std::string> examples;
};

// Each task of an epoch finishes once, so over one epoch each record is counted at most once. A
// record that is bad in one epoch is bad in all, so count() is the count of the epoch with the
// most. Thread-compatible.
class BadRecordCount {
 public:
  void Add(const TaskBadRecords& task);

  uint64_t count() const { return most_; }
  const std::vector<std::string>& examples() const { return examples_; }  // The first ones.

  // Write to and read from the progress in a checkpoint or the chief's state. The first
  // `epochs_done` epochs are complete, and their counts are not written.
  void Save(uint32_t epochs_done, v1::TaskProgress& progress) const;
  void Restore(const v1::TaskProgress& progress);

 private:
  uint64_t most_ = 0;
  std::map<uint32_t, uint64_t> epochs_;
  std::vector<std::string> examples_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_BAD_RECORD_COUNT_H_
