// The lock that makes compare-and-replace of a file store one step, across processes and machines.
#ifndef CAPSTAN_OBJECTSTORE_FILE_LOCK_H_
#define CAPSTAN_OBJECTSTORE_FILE_LOCK_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/objectstore/files.h"

namespace capstan {

// Plain writes and deletions share the lock, conditional replacements hold it alone; both only for
// the moment of the rename. The kernel frees it when its holder dies.
enum class LockKind { kShared, kExclusive };

// Locks the file ".lock" in the folder `root`, until the result is destroyed. UNAVAILABLE if others
// hold it for longer than `wait`.
absl::StatusOr<FileDescriptor> LockFolder(const FileDescriptor& root, LockKind kind,
                                          absl::Duration wait);

// Removes the lock file of a folder that holds nothing else, unless somebody has locked it. Whoever
// had opened it locks the one that is made after it.
void RemoveLastLock(const FileDescriptor& folder);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_FILE_LOCK_H_
