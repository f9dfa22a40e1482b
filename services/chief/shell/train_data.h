// Compares the training data with which a job has begun with the present content of its files.
#ifndef CAPSTAN_CHIEF_SHELL_TRAIN_DATA_H_
#define CAPSTAN_CHIEF_SHELL_TRAIN_DATA_H_

#include <string>
#include <vector>

#include "capstan/data/tasks/task_ranges.h"

namespace capstan::chief {

// The names of files that have changed. A record that was overwritten in place is not noticed.
struct TrainDataChange {
  std::vector<std::string> more;
  std::vector<std::string> longer;
  std::vector<std::string> gone;
  std::vector<std::string> shorter;

  bool empty() const { return more.empty() && longer.empty() && keeps_all(); }
  // Returns true if the ranges with which the job has begun can still be read.
  bool keeps_all() const { return gone.empty() && shorter.empty(); }
  // Returns a text such as "2 files more (/data/b.csv, ...), 1 longer (/data/a.csv)".
  std::string ToString() const;
};

// `begun` and `now` are all tasks of the training split, as cut when the job began and now.
TrainDataChange CompareTrainData(const TaskRanges& begun, const TaskRanges& now);

// Returns a note for the people who have changed the data of a job that continues with its original
// data; empty if nothing has changed.
std::string TrainDataNote(const TrainDataChange& change);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_TRAIN_DATA_H_
