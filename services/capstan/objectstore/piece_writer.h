// Writes a file in large pieces and past the page cache, where the file system can do that.
//
// Through the cache, gigabytes of a checkpoint that nobody will read soon cost the kernel more time
// than the disk does, on cores that serve requests, and push out what others need.
#ifndef CAPSTAN_OBJECTSTORE_PIECE_WRITER_H_
#define CAPSTAN_OBJECTSTORE_PIECE_WRITER_H_

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/objectstore/files.h"

namespace capstan {

// Thread-compatible.
class PieceWriter {
 public:
  static constexpr size_t kPieceBytes = size_t{1} << 20;
  // A smaller end of a file goes through the cache.
  static constexpr size_t kCachedBytes = size_t{64} << 10;

  // `file` is empty, and must outlive this object.
  explicit PieceWriter(const FileDescriptor& file) : file_(file) {}

  // What is appended may wait in memory until Finish; neither makes it durable.
  absl::Status Append(std::string_view bytes);
  absl::Status Finish();

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };

  absl::Status WriteDirect(std::string_view bytes);
  void SetDirect(bool direct);

  const FileDescriptor& file_;
  std::unique_ptr<char, Free> piece_;  // Aligned, as such writes want it.
  size_t filled_ = 0;
  bool begun_ = false;
  bool direct_ = false;
};

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_PIECE_WRITER_H_
