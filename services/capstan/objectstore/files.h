// File descriptors, and the steps of the file store that concern one folder or one file.
#ifndef CAPSTAN_OBJECTSTORE_FILES_H_
#define CAPSTAN_OBJECTSTORE_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/objectstore/object_store.h"

namespace capstan {

// Owns a file descriptor. Thread-compatible.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int Release();

  int fd_;
};

// Returns an error "path: <the system's text for `error`>", with the status code for this errno.
absl::Status SystemError(std::string_view path, int error);

// Opens the folder `name` in `parent`, but not through a symbolic link. With `make`, creates it
// durably if it does not exist.
absl::StatusOr<FileDescriptor> OpenFolder(const FileDescriptor& parent, const std::string& name,
                                          bool make);

// Opens the file `name` in `folder` for reading, but not through a symbolic link.
// FAILED_PRECONDITION: it is not a file. `key` is for messages.
absl::StatusOr<FileDescriptor> OpenFile(const FileDescriptor& folder, const std::string& name,
                                        std::string_view key);

// An open file's own path is not known to these; their error messages begin with `key`.

// Returns the version of a file, computed from its time stamp, inode number and size.
absl::StatusOr<ObjectVersion> VersionOf(const FileDescriptor& file, std::string_view key);

absl::Status WriteAll(const FileDescriptor& file, std::string_view bytes, std::string_view key);

// OUT_OF_RANGE: the file ends before the range. Ignores ReadRange::version.
absl::StatusOr<std::string> ReadAt(const FileDescriptor& file, const ReadRange& range,
                                   std::string_view key);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_FILES_H_
