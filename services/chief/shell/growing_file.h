// A file that only grows. In a folder, text is appended at once, so that the file can be followed;
// what cannot be written because the disk is full is appended later, before anything else. In an
// object store, the whole object is rewritten every few seconds.
#ifndef CAPSTAN_CHIEF_SHELL_GROWING_FILE_H_
#define CAPSTAN_CHIEF_SHELL_GROWING_FILE_H_

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/objectstore/object_store.h"
#include "chief/shell/store_thread.h"

namespace capstan::chief {

// Thread-compatible.
class GrowingFile {
 public:
  virtual ~GrowingFile() = default;
  virtual void Append(const std::string& text) = 0;
};

// Returns what the file should contain before anything is appended, given its present content.
using GoOnWith = std::string (*)(const std::string& before);

// Opens a file in an existing folder. `anew`: its content is discarded. INVALID_ARGUMENT: it cannot
// be read or written.
absl::StatusOr<std::unique_ptr<GrowingFile>> OpenGrowingFile(const std::filesystem::path& path,
                                                             bool anew, GoOnWith go_on);

// Returns an object in a store. What is not written yet is written when `thread`, which must
// outlive it, is destroyed. Nothing is written as long as the present content cannot be read.
std::unique_ptr<GrowingFile> NewGrowingObject(std::shared_ptr<ObjectStore> folder,
                                              const std::string& name, bool anew, GoOnWith go_on,
                                              StoreThread& thread);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_GROWING_FILE_H_
