// Decides when a process that dies is started again.
#ifndef CAPSTAN_CLI_LOCAL_RESTARTS_H_
#define CAPSTAN_CLI_LOCAL_RESTARTS_H_

#include <algorithm>
#include <optional>

#include "absl/time/time.h"

namespace capstan::cli {

// After deaths in quick succession the delay doubles each time, and after kMaxInARow restarts in a
// row there is none. A process that lived for kCleanAfter starts with a clean record.
// Thread-compatible.
class Restarts {
 public:
  static constexpr int kMaxInARow = 5;
  static constexpr absl::Duration kFirstDelay = absl::Milliseconds(200);
  static constexpr absl::Duration kLongestDelay = absl::Seconds(10);
  static constexpr absl::Duration kCleanAfter = absl::Minutes(1);

  // Returns how long to wait before the next start; nothing: the process has died too often.
  std::optional<absl::Duration> OnDeath(absl::Duration lived) {
    if (lived >= kCleanAfter) in_a_row_ = 0;
    if (in_a_row_ == kMaxInARow) return std::nullopt;
    return std::min(kLongestDelay, kFirstDelay * (1 << in_a_row_++));
  }

 private:
  int in_a_row_ = 0;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_RESTARTS_H_
