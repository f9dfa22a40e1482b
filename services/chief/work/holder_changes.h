// Records which trainers have gained or lost work, so that callers need to check only these again.
#ifndef CAPSTAN_CHIEF_WORK_HOLDER_CHANGES_H_
#define CAPSTAN_CHIEF_WORK_HOLDER_CHANGES_H_

#include <cstdint>
#include <set>
#include <utility>

#include "capstan/base/ids.h"

namespace capstan::chief {

// Thread-compatible.
class HolderChanges {
 public:
  // The trainer has been given work, or has lost some.
  void Note(TrainerId trainer) {
    ++count_;
    trainers_.insert(trainer);
  }

  // All work has been replaced, and no trainer holds any of it.
  void NoteAll() { ++count_; }

  uint64_t count() const { return count_; }  // How many changes were ever recorded.
  // Returns the trainers recorded since the last call.
  std::set<TrainerId> Take() { return std::exchange(trainers_, {}); }

 private:
  uint64_t count_ = 0;
  std::set<TrainerId> trainers_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_HOLDER_CHANGES_H_
