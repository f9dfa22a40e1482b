// The same work for each of many files, which wait for a store more than they compute.
#ifndef CAPSTAN_DATA_TASKS_IN_PARALLEL_H_
#define CAPSTAN_DATA_TASKS_IN_PARALLEL_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace capstan {

// So many files are worth one more thread, and there are at most so many threads.
inline constexpr size_t kFilesAThread = 16;
inline constexpr size_t kFewestThreads = 8;
inline constexpr size_t kMostThreads = 128;

// Calls `work` with each place in [0, count), in threads of its own, at most `most_threads`. The
// error of the first place that has one, and then not all have been begun; all before it have.
absl::Status ForEachInParallel(size_t count, const std::function<absl::Status(size_t)>& work,
                               size_t most_threads = kMostThreads);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_IN_PARALLEL_H_
