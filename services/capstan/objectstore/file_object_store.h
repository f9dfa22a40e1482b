// Objects as files below a folder.
//
// An object is written to a temporary file in the same folder, flushed to the disk, and renamed (or
// linked, if it must not replace another): readers see it whole or not at all, even after a crash.
// No key leads out of the folder: names cannot be "..", and symbolic links below the folder are not
// followed. Deleting the last object of a folder removes the folder, and the temporary files that
// dead writers have left in it. Conditional replacements use the lock file ".lock" in the root.
#ifndef CAPSTAN_OBJECTSTORE_FILE_OBJECT_STORE_H_
#define CAPSTAN_OBJECTSTORE_FILE_OBJECT_STORE_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "capstan/objectstore/object_store.h"

namespace capstan {

struct FileStoreOptions {
  absl::Duration lock_wait = absl::Seconds(10);  // How long to wait for the lock; then UNAVAILABLE.
};

// `root` is an absolute or relative path; the first write creates it. Thread-safe.
std::unique_ptr<ObjectStore> MakeFileObjectStore(std::string root,
                                                 const FileStoreOptions& options = {});

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_FILE_OBJECT_STORE_H_
