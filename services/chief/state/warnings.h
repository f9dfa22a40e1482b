// Warnings for people: one sentence about each thing that is odd, for as long as it is odd.
#ifndef CAPSTAN_CHIEF_STATE_WARNINGS_H_
#define CAPSTAN_CHIEF_STATE_WARNINGS_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// Adds a warning to a status. `about` stays the same while the numbers of the sentence change, so
// that a person who follows the status is told it once.
inline void AddWarning(std::string about, std::string sentence, v1::GetStatusReply& status) {
  status.add_warning_subjects(std::move(about));
  status.add_warnings(std::move(sentence));
}

// Thread-compatible.
class Warnings {
 public:
  // Sets the warning `about` something to `sentence`; an empty sentence ends it. Returns true if
  // there was no warning about it before, so that the log tells it once, however its numbers
  // change.
  bool Note(std::string_view about, std::string sentence) {
    const auto found = sentences_.find(about);
    if (sentence.empty()) {
      if (found != sentences_.end()) sentences_.erase(found);
      return false;
    }
    if (found == sentences_.end()) return sentences_.emplace(about, std::move(sentence)).second;
    found->second = std::move(sentence);
    return false;
  }

  // All warnings, by what they are about.
  const std::map<std::string, std::string, std::less<>>& all() const { return sentences_; }

 private:
  std::map<std::string, std::string, std::less<>> sentences_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_WARNINGS_H_
