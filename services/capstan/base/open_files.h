// How many files and connections a process may have open at a time (RLIMIT_NOFILE).
#ifndef CAPSTAN_BASE_OPEN_FILES_H_
#define CAPSTAN_BASE_OPEN_FILES_H_

#include <cstdint>

namespace capstan {

// Raises the limit as far as the system allows this process, and returns the new one. To be called
// when the process starts.
int64_t RaiseOpenFilesLimit();

// The present limit. Thread-safe.
int64_t OpenFilesLimit();

}  // namespace capstan

#endif  // CAPSTAN_BASE_OPEN_FILES_H_
