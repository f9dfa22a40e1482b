// Where files come from. One implementation today, the local file system; an object store is
// another.
#ifndef CAPSTAN_DATA_SOURCE_H_
#define CAPSTAN_DATA_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

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
  virtual absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const = 0;

  // The bytes of a file as they are stored, from `offset` on.
  virtual absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path,
                                                           uint64_t offset) const = 0;
};

// Local files; `file://` in front of a path is accepted.
std::unique_ptr<const Source> NewLocalFiles();

}  // namespace capstan

#endif  // CAPSTAN_DATA_SOURCE_H_
