// How a service ends: what its exit code tells whoever started it.
#ifndef CAPSTAN_BASE_EXIT_CODE_H_
#define CAPSTAN_BASE_EXIT_CODE_H_

#include "absl/status/status.h"

namespace capstan {

// 0: as asked. 2: it cannot start like this (a flag, a port that is taken, a chief that refuses
// it), so that starting it again in the same way is no use. 1: anything else.
inline int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  const bool refused = absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) ||
                       absl::IsUnavailable(status);
  return refused ? 2 : 1;
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_EXIT_CODE_H_
