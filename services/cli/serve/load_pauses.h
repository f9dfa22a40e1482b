// When a version that could not be taken is read again: that may be as much as one that can be.
#ifndef CAPSTAN_CLI_SERVE_LOAD_PAUSES_H_
#define CAPSTAN_CLI_SERVE_LOAD_PAUSES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace capstan::cli {

// A version that does not fit (FAILED_PRECONDITION, INVALID_ARGUMENT) is left alone for the longest
// time at once: it stays as it is, though a program may have failed for want of memory. After any
// other error it is left for the first pause, and for twice as long with each further one, up to
// the longest. Another version is read at once. Thread-compatible.
class LoadPauses {
 public:
  static constexpr absl::Duration kLongest = absl::Minutes(10);

  explicit LoadPauses(absl::Duration first) : first_(first) {}

  // Why the version of this folder could not be taken, as long as it is to be left alone; else OK.
  absl::Status Standing(const std::string& folder, absl::Time now) const;
  // REQUIRES: an error.
  void Failed(const std::string& folder, const absl::Status& why, absl::Time now);

 private:
  const absl::Duration first_;
  std::string folder_;  // The one that failed last.
  absl::Status why_;
  absl::Duration pause_;
  absl::Time until_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_LOAD_PAUSES_H_
