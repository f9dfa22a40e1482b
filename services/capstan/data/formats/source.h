// Reads files from the local file system or an object store.
#ifndef CAPSTAN_DATA_FORMATS_SOURCE_H_
#define CAPSTAN_DATA_FORMATS_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace capstan {

// A stream of bytes that is read from its beginning to its end. Thread-compatible.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Fills the beginning of `buffer` and returns how many bytes; 0 only at the end (or if `buffer`
  // is empty). An error names the file and the byte.
  virtual absl::StatusOr<size_t> Read(std::span<char> buffer) = 0;
};

struct FileInfo {
  std::string path;
  uint64_t bytes = 0;
};

// Implementations are thread-safe.
class Source {
 public:
  virtual ~Source() = default;

  // Returns the files that match a path or glob, sorted by path. If a file has exactly this name,
  // only that file is returned, even if the name could be a glob. Names beginning with `_` or `.`
  // that are matched by a glob are omitted (IsHidden of glob_pattern.h). NOT_FOUND: there is no
  // such file; INVALID_ARGUMENT: the path is a folder, or does not belong to this source, or the
  // name of a file is not UTF-8 (CheckFileName).
  virtual absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const = 0;

  // Returns the file with exactly this path, which is not treated as a glob. Errors as for List.
  virtual absl::StatusOr<FileInfo> Find(const std::string& path) const = 0;

  // Opens the stored bytes of a file beginning at `offset`. `likely_end` is a hint for reading
  // ahead: the reader will stop at the end of the record that crosses that byte. From an object
  // store the first bytes are requested at once, before they are read. The stream must not outlive
  // the source.
  static constexpr uint64_t kToTheEnd = ~uint64_t{0};
  virtual absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path, uint64_t offset,
                                                           uint64_t likely_end) const = 0;

  // Returns what the store has answered to the read that is being retried now; empty if none is.
  virtual std::string Trouble() const { return ""; }

  // For a process that ends: makes reads that wait for a network, and all later ones, fail with
  // CANCELLED.
  virtual void Cancel() const {}
};

struct DataFilesOptions {
  absl::Duration patience = absl::Minutes(2);  // How long temporary failures are retried.
  bool outlasts_refusals = false;              // As in S3Options.
};

// Returns a source of local files and objects. A path that begins with `s3://` is read from an
// object store, configured by the environment. Any other path is read as by NewLocalFiles.
std::unique_ptr<const Source> NewDataFiles(const DataFilesOptions& options = {});

// Returns a source of local files; `file://` in front of a path is accepted.
std::unique_ptr<const Source> NewLocalFiles();

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_SOURCE_H_
