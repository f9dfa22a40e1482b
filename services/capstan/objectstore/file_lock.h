// The lock that makes compare-and-replace in a file store atomic, across processes and machines.
#ifndef CAPSTAN_OBJECTSTORE_FILE_LOCK_H_
#define CAPSTAN_OBJECTSTORE_FILE_LOCK_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/objectstore/files.h"

namespace capstan {

// Plain writes and deletions share the lock, conditional replacements hold it exclusively; both
// only while a file is renamed or removed. The kernel releases the lock when its holder dies.
enum class LockKind { kShared, kExclusive };

// Locks the file ".lock" in the folder `root` until the result is destroyed. UNAVAILABLE: the lock
// was not free within `wait`.
absl::StatusOr<FileDescriptor> LockFolder(const FileDescriptor& root, LockKind kind,
                                          absl::Duration wait);

// Removes the lock file of a folder that contains nothing else, unless it is locked. A process that
// has opened it but not locked it yet notices that, and locks the file that is created next.
void RemoveLastLock(const FileDescriptor& folder);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_FILE_LOCK_H_
