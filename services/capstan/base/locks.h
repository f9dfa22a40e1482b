// Settings of the mutexes of a process.
#ifndef CAPSTAN_BASE_LOCKS_H_
#define CAPSTAN_BASE_LOCKS_H_

#include "absl/synchronization/mutex.h"

namespace capstan {

// Abseil as Debian builds it looks for lock cycles at every lock, under a lock of the whole
// process. A service turns this off with this function when it starts; tests keep it.
inline void LockWithoutSearch() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace capstan

#endif  // CAPSTAN_BASE_LOCKS_H_
