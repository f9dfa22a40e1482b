// The output of the chief's state machine: actions in order, and warnings for people.
#ifndef CAPSTAN_CHIEF_STATE_OUTBOX_H_
#define CAPSTAN_CHIEF_STATE_OUTBOX_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chief/state/chief_actions.h"
#include "chief/state/warnings.h"

namespace capstan::chief {

// Thread-compatible.
class Outbox {
 public:
  void Add(Action action) { actions_.push_back(std::move(action)); }

  void Log(LogEvent::Level level, std::string message,
           std::vector<std::pair<std::string, std::string>> fields = {}) {
    Add(LogEvent{level, std::move(message), std::move(fields)});
  }

  // Sets the text of the warning about `about`; an empty text removes the warning. The status shows
  // warnings while they exist; the log gets a line only when one is added.
  void Warn(std::string_view about, std::string sentence) {
    if (warnings_.Note(about, sentence)) Log(LogEvent::Level::kWarning, std::move(sentence));
  }
  const Warnings& warnings() const { return warnings_; }

  // Returns the actions added since the last call, in their order.
  std::vector<Action> Take() { return std::exchange(actions_, {}); }

 private:
  std::vector<Action> actions_;
  Warnings warnings_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_OUTBOX_H_
