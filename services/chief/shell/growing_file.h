// A file that only grows. In a folder it is appended to, so that it can be followed; in an object
// store the whole object is written anew every few seconds.
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

// What the file is to hold before anything is appended, given what there is of it. A pure function.
using GoOnWith = std::string (*)(const std::string& before);

// A file of a folder that exists. `anew`: nothing counts as there. INVALID_ARGUMENT: it cannot be
// read or written.
absl::StatusOr<std::unique_ptr<GrowingFile>> OpenGrowingFile(const std::filesystem::path& path,
                                                             bool anew, GoOnWith go_on);

// An object of a store. What is not written yet is written when `thread`, which must outlive it,
// ends. As long as the store does not say what there is of it, nothing is written.
std::unique_ptr<GrowingFile> NewGrowingObject(std::shared_ptr<ObjectStore> folder,
                                              const std::string& name, bool anew, GoOnWith go_on,
                                              StoreThread& thread);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_GROWING_FILE_H_
