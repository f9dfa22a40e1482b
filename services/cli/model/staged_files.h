// Files of a folder that take the places of older ones together.
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

// Each file is written as `.NAME.unfinished`, by one command at a time; what has not been published
// is removed. Thread-compatible.
class StagedFiles {
 public:
  // A file, written at places. What has gone wrong is told by Publish.
  class File {
   public:
    File(const std::string& folder, const std::string& name);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    const std::string& name() const { return name_; }
    void Write(uint64_t at, const void* data, size_t bytes);
    // What has gone wrong so far, for who would else work for nothing. FAILED_PRECONDITION: another
    // command is writing it, which it does undisturbed.
    const absl::Status& status() const { return status_; }

   private:
    friend class StagedFiles;
    absl::Status Finish();  // All of it is on the disk.
    absl::Status Place();   // It has its name. REQUIRES: Finish was.

    const std::string name_;
    const std::string path_;
    const std::string unfinished_;
    FileDescriptor file_;  // Locked until it is closed, which is after it has its name.
    absl::Status status_;
    bool placed_ = false;
  };

  // `folder` exists.
  explicit StagedFiles(std::string folder) : folder_(std::move(folder)) {}

  // The file lives as long as this object.
  File& Add(const std::string& name);
  void AddText(const std::string& name, std::string_view text);

  // Puts all files into their places, durably. Nothing is touched before all of them are written.
  // Then the files `marker` and `stale` of before are removed, and the new `marker` comes last:
  // whoever finds it finds the others that belong to it, whenever this is broken off.
  absl::Status Publish(const std::string& marker, const std::string& stale);
  // The same of files that need no marker: each is there as it was, or whole.
  absl::Status Publish();

 private:
  absl::Status Finish() const;
  absl::Status Remove(const std::string& name) const;
  absl::Status Sync() const;  // The names of the folder are on the disk.

  const std::string folder_;
  std::vector<std::unique_ptr<File>> files_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_STAGED_FILES_H_
