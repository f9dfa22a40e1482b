// Warnings for people: one sentence about each unusual condition, for as long as it lasts.
#ifndef CAPSTAN_CHIEF_STATE_WARNINGS_H_
#define CAPSTAN_CHIEF_STATE_WARNINGS_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "capstan/v1/chief.pb.h"

namespace capstan::chief {

// Adds a warning to a status. `about` identifies the condition and stays the same while the numbers
// in the sentence change, so that a person who follows the status sees it once.
inline void AddWarning(std::string about, std::string sentence, v1::GetStatusReply& status) {
  status.add_warning_subjects(std::move(about));
  status.add_warnings(std::move(sentence));
}

// Thread-compatible.
class Warnings {
 public:
  // Sets the sentence of the warning about `about`; an empty sentence removes the warning. Returns
  // true if the warning is new, so that it can be logged once however its numbers change.
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

  // All warnings, by `about`.
  const std::map<std::string, std::string, std::less<>>& all() const { return sentences_; }

 private:
  std::map<std::string, std::string, std::less<>> sentences_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_WARNINGS_H_
