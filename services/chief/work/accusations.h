// Who has said that a piece of work cannot be done by anybody: its data are bad, the loss over it
// is not finite, or it has more records that cannot be understood than the job bears. A single
// worker may be broken, or lie. So the job does not fail by the word of one worker while another
// one can be asked: that one gets the work first.
#ifndef CAPSTAN_CHIEF_WORK_ACCUSATIONS_H_
#define CAPSTAN_CHIEF_WORK_ACCUSATIONS_H_

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// Names the work of a lease by `kind`, `number` and `part`. TASK: the stream, 0; LANE: the lane,
// and the ordinal of its next task; EVALUATION: the evaluation's number, and the index of the task.
struct WorkName {
  v1::LeaseKind kind = v1::LEASE_KIND_UNSPECIFIED;
  uint64_t number = 0;
  uint64_t part = 0;
  friend auto operator<=>(const WorkName&, const WorkName&) = default;
};

// A voice is a worker, or all workers of one address. Thread-compatible.
class Accusations {
 public:
  void Add(const WorkName& work, const std::string& voice) {
    Words& words = words_[work];
    ++words.said;
    words.voices.insert(voice);
  }
  void Forget(const WorkName& work) { words_.erase(work); }
  bool empty() const { return words_.empty(); }

  bool Has(const WorkName& work, const std::string& voice) const {
    const auto found = words_.find(work);
    return found != words_.end() && found->second.voices.contains(voice);
  }

  // Returns true if `work` was accused at least twice and, if `others` (the job has more than one
  // voice), by at least two voices.
  bool Stands(const WorkName& work, bool others) const {
    const auto found = words_.find(work);
    if (found == words_.end()) return false;
    return found->second.said >= 2 && (!others || found->second.voices.size() >= 2);
  }

 private:
  struct Words {
    int said = 0;
    std::set<std::string> voices;
  };
  std::map<WorkName, Words> words_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_ACCUSATIONS_H_
