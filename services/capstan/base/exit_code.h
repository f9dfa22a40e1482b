// The exit code of a service.
#ifndef CAPSTAN_BASE_EXIT_CODE_H_
#define CAPSTAN_BASE_EXIT_CODE_H_

#include "absl/status/status.h"

namespace capstan {

// Returns 0 if the service ended as asked; 2 if it cannot run with these settings (a wrong flag, a
// port that is taken, a chief that refuses it), so that a restart would not help; otherwise 1.
inline int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  const bool refused = absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) ||
                       absl::IsUnavailable(status);
  return refused ? 2 : 1;
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_EXIT_CODE_H_
