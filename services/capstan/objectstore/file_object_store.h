// Objects as files below a folder.
//
// An object is written to a temporary file beside its place, flushed to the disk, and renamed (or
// linked, if it must not replace another): readers see it whole or not at all, also after a crash.
// No key leads out of the folder: names cannot be "..", and symbolic links below the folder are not
// followed. Deleting the last object of a folder removes the folder, and the temporary files that
// dead writers have left in it. Conditional replacements take the lock file ".lock" at the root.
#ifndef CAPSTAN_OBJECTSTORE_FILE_OBJECT_STORE_H_
#define CAPSTAN_OBJECTSTORE_FILE_OBJECT_STORE_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "capstan/objectstore/object_store.h"

namespace capstan {

struct FileStoreOptions {
  absl::Duration lock_wait = absl::Seconds(10);  // After this, UNAVAILABLE.
};

// `root` is an absolute or relative path; it is made by the first write. Thread-safe.
std::unique_ptr<ObjectStore> MakeFileObjectStore(std::string root,
                                                 const FileStoreOptions& options = {});

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_FILE_OBJECT_STORE_H_
