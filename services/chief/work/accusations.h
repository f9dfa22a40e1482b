// Which workers have reported that a piece of work cannot be done by anybody: its data are bad, the
// loss over it is not finite, or it has more unreadable records than the job tolerates. A single
// worker may be broken, or lie. So the job does not fail on the report of one worker while another
// one can be asked: the work is leased to that one first.
#ifndef CAPSTAN_CHIEF_WORK_ACCUSATIONS_H_
#define CAPSTAN_CHIEF_WORK_ACCUSATIONS_H_

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// Identifies the work of a lease by `kind`, `number` and `part`. TASK: the stream, 0; LANE: the
// lane, and the ordinal of its next task; EVALUATION: the evaluation's number, and the index of the
// task.
struct WorkName {
  v1::LeaseKind kind = v1::LEASE_KIND_UNSPECIFIED;
  uint64_t number = 0;
  uint64_t part = 0;
  friend auto operator<=>(const WorkName&, const WorkName&) = default;
};

// The reports are counted by voice: a worker, or all workers at one address.
// Thread-compatible.
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

  // Returns true if `work` was accused at least twice. If `others` (the job has more than one
  // voice), it must also have been accused by at least two voices.
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
