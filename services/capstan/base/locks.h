// Process-wide settings of mutexes.
#ifndef CAPSTAN_BASE_LOCKS_H_
#define CAPSTAN_BASE_LOCKS_H_

#include "absl/synchronization/mutex.h"

namespace capstan {

// Debian's build of Abseil searches for lock cycles at every lock, under a process-wide lock. A
// service calls this function when it starts to turn that off; tests keep it.
inline void LockWithoutSearch() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_LOCKS_H_
