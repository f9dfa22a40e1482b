// Where files come from: the local file system, or an object store.
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

// Bytes from the front to the end. Thread-compatible.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Fills a front part of `buffer` and returns its size; 0 only at the end (or if `buffer` is
  // empty). An error names the file and the byte.
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

  // The files that a path or glob names, sorted by path. NOT_FOUND: there is none;
  // INVALID_ARGUMENT: it is a folder, or no file of this source.
  // A file that has the name as it stands is meant alone, also if the name could be a glob.
  virtual absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const = 0;

  // The file of this path, as List returned it: no character of it has another meaning. Errors as
  // of List.
  virtual absl::StatusOr<FileInfo> Find(const std::string& path) const = 0;

  // The bytes of a file as they are stored, from `offset` on. The reader will stop at the end of
  // the record that crosses byte `likely_end`: a hint how far to read ahead. An object store is
  // asked for the first bytes at once, before they are read. The stream must not outlive the
  // source.
  static constexpr uint64_t kToTheEnd = ~uint64_t{0};
  virtual absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path, uint64_t offset,
                                                           uint64_t likely_end) const = 0;

  // What the store has answered to what is read now, if that is tried again; empty: nothing has
  // failed.
  virtual std::string Trouble() const { return ""; }

  // For a process that ends: what waits for a network, or comes later, fails with CANCELLED.
  virtual void Cancel() const {}
};

struct DataFilesOptions {
  absl::Duration patience = absl::Minutes(2);  // Failures that pass are tried again until then.
  bool outlasts_refusals = false;              // As in S3Options.
};

// Files and objects: what begins with `s3://` is read from there, with the options of the
// environment; all else as NewLocalFiles does.
std::unique_ptr<const Source> NewDataFiles(const DataFilesOptions& options = {});

// Local files; `file://` in front of a path is accepted.
std::unique_ptr<const Source> NewLocalFiles();

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_SOURCE_H_
