// Performs the same work for each of many files in parallel, for work that mostly waits for a
// store.
#ifndef CAPSTAN_DATA_TASKS_IN_PARALLEL_H_
#define CAPSTAN_DATA_TASKS_IN_PARALLEL_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace capstan {

// There is one thread per kFilesAThread files, but at least kFewestThreads and at most kMostThreads
// (fewer only if there are fewer files).
inline constexpr size_t kFilesAThread = 16;
inline constexpr size_t kFewestThreads = 8;
inline constexpr size_t kMostThreads = 128;

// Calls `work` with each index in [0, count), in at most `most_threads` threads, and waits for
// them. After an error no further call begins. Returns the error of the lowest index that has one;
// `work` was then called with all lower indexes, and none of these calls failed.
absl::Status ForEachInParallel(size_t count, const std::function<absl::Status(size_t)>& work,
                               size_t most_threads = kMostThreads);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_IN_PARALLEL_H_
