// Replaces several files of a folder together.
#ifndef CAPSTAN_CLI_MODEL_STAGED_FILES_H_
#define CAPSTAN_CLI_MODEL_STAGED_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "capstan/objectstore/files.h"

namespace capstan::cli {

// Each file is written as `.NAME.unfinished`, by one command at a time. The destructor removes
// files that were not published. Thread-compatible.
class StagedFiles {
 public:
  // A file whose bytes are written at any place. Errors of writing are returned by Publish.
  class File {
   public:
    File(const std::string& folder, const std::string& name);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    const std::string& name() const { return name_; }
    void Write(uint64_t at, const void* data, size_t bytes);
    // The first error so far, so that a caller can stop early. FAILED_PRECONDITION: another command
    // is writing this file, and is not disturbed.
    const absl::Status& status() const { return status_; }

   private:
    friend class StagedFiles;
    absl::Status Finish();  // Makes the whole file durable.
    absl::Status Place();   // Gives the file its name. REQUIRES: Finish has returned OK.

    const std::string name_;
    const std::string path_;
    const std::string unfinished_;
    FileDescriptor file_;  // Locked until it is closed, which happens after the file has its name.
    absl::Status status_;
    bool placed_ = false;
  };

  // REQUIRES: `folder` exists.
  explicit StagedFiles(std::string folder) : folder_(std::move(folder)) {}

  // The file lives as long as this object.
  File& Add(const std::string& name);
  void AddText(const std::string& name, std::string_view text);

  // Puts all files into their places, durably. No old file is touched before all new ones are
  // written. Then the old files `marker` and those of `stale` are removed, and the new `marker` is
  // put in place last. So a reader that finds `marker` finds all files that belong to it, even if
  // this is interrupted.
  absl::Status Publish(const std::string& marker, const std::vector<std::string>& stale);
  // The same for files that need no marker: if this is interrupted, each file is the old one or the
  // whole new one.
  absl::Status Publish();

 private:
  absl::Status Finish() const;
  absl::Status Remove(const std::string& name) const;
  absl::Status Sync() const;  // Makes the names in the folder durable.

  const std::string folder_;
  std::vector<std::unique_ptr<File>> files_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_STAGED_FILES_H_
