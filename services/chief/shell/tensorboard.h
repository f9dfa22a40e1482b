// The learning curve as an event file of TensorBoard.
#ifndef CAPSTAN_CHIEF_SHELL_TENSORBOARD_H_
#define CAPSTAN_CHIEF_SHELL_TENSORBOARD_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "chief/state/chief_actions.h"

namespace capstan::chief {

// Creates the events of one chief, in order. `now` is the time of day. Thread-compatible.
class TensorBoardEvents {
 public:
  // Returns what the file should contain before anything is appended, given its present content
  // (`before`): an incomplete last record is cut off, as TensorBoard would read nothing after it.
  static std::string Begin(const std::string& before, absl::Time now);

  // Returns what has to be appended for a point. Steps that are repeated, after a return to a
  // checkpoint or under another chief, replace those that TensorBoard has.
  std::string Append(const AppendCurve& point, absl::Time now);

 private:
  std::optional<uint64_t> last_step_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_TENSORBOARD_H_
