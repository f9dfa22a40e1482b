// The learning curve as TensorBoard reads it: an event file.
#ifndef CAPSTAN_CHIEF_SHELL_TENSORBOARD_H_
#define CAPSTAN_CHIEF_SHELL_TENSORBOARD_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "chief/state/chief_actions.h"

namespace capstan::chief {

// The events of one chief, in order. Times are times of day. Thread-compatible.
class TensorBoardEvents {
 public:
  // The file to append to, where `before` is what there is of it: without a record that is not
  // whole, after which TensorBoard would read none.
  static std::string Begin(const std::string& before, absl::Time now);

  // What is to be appended for a point. Steps that come again, after a return to a checkpoint or
  // from a chief to the next, replace what TensorBoard has of them.
  std::string Append(const AppendCurve& point, absl::Time now);

 private:
  std::optional<uint64_t> last_step_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_TENSORBOARD_H_
