// Decides when a version of a model that could not be loaded is read again, as reading it may cost
// as much as reading a good one.
#ifndef CAPSTAN_CLI_SERVE_LOAD_PAUSES_H_
#define CAPSTAN_CLI_SERVE_LOAD_PAUSES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace capstan::cli {

// A version that does not fit (FAILED_PRECONDITION, INVALID_ARGUMENT) is left alone for kLongest at
// once: it does not change, though its program may have failed only for want of memory. After any
// other error the pause is `first`, and doubles with each further error, up to kLongest. Another
// version is read at once. Thread-compatible.
class LoadPauses {
 public:
  static constexpr absl::Duration kLongest = absl::Minutes(10);

  explicit LoadPauses(absl::Duration first) : first_(first) {}

  // Returns the error of the version in `folder` while it is to be left alone, otherwise OK.
  absl::Status Standing(const std::string& folder, absl::Time now) const;
  // Notes that loading the version in `folder` has failed. REQUIRES: `why` is an error.
  void Failed(const std::string& folder, const absl::Status& why, absl::Time now);

 private:
  const absl::Duration first_;
  std::string folder_;  // The version that failed last.
  absl::Status why_;
  absl::Duration pause_;
  absl::Time until_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_LOAD_PAUSES_H_
