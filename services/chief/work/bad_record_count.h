// Counts the records of the training data that cannot be understood. Each counts once, however
// often its task is leased and however many epochs read it.
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

// Each task of an epoch is done once, so the tasks of an epoch together count each record at most
// once. A record that is bad in one epoch is bad in all, so count() is that of the epoch with the
// most. Thread-compatible.
class BadRecordCount {
 public:
  void Add(const TaskBadRecords& task);

  uint64_t count() const { return most_; }
  const std::vector<std::string>& examples() const { return examples_; }  // The first ones.

  // Write and read what a checkpoint or the chief's state keeps. The epochs before `epochs_done`
  // are complete, and their counts are not written.
  void Save(uint32_t epochs_done, v1::TaskProgress& progress) const;
  void Restore(const v1::TaskProgress& progress);

 private:
  uint64_t most_ = 0;
  std::map<uint32_t, uint64_t> epochs_;
  std::vector<std::string> examples_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_BAD_RECORD_COUNT_H_
