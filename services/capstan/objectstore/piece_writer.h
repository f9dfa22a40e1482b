// Writes a file in large pieces, bypassing the page cache if the file system supports that.
//
// The gigabytes of a checkpoint are not read soon. Through the page cache they would cost the
// kernel more time than the disk needs, on cores that serve requests, and would evict what other
// processes have cached.
#ifndef CAPSTAN_OBJECTSTORE_PIECE_WRITER_H_
#define CAPSTAN_OBJECTSTORE_PIECE_WRITER_H_

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "capstan/objectstore/files.h"

namespace capstan {

// Thread-compatible.
class PieceWriter {
 public:
  static constexpr size_t kPieceBytes = size_t{1} << 20;
  // If less than this remains at the end of a file, it is written through the cache.
  static constexpr size_t kCachedBytes = size_t{64} << 10;

  // REQUIRES: `file` is empty. It must outlive this object. Error messages begin with `key`.
  PieceWriter(const FileDescriptor& file, std::string key) : file_(file), key_(std::move(key)) {}

  // Appended bytes may stay in memory until Finish. Neither method makes them durable. After an
  // error both return it again, because bytes are missing in the file.
  absl::Status Append(std::string_view bytes);
  absl::Status Finish();

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };

  absl::Status Take(std::string_view bytes);
  absl::Status WriteRest();
  absl::Status WriteDirect(std::string_view bytes);
  void SetDirect(bool direct);

  const FileDescriptor& file_;
  const std::string key_;
  std::unique_ptr<char, Free> piece_;  // Aligned, as direct writes require.
  size_t filled_ = 0;
  bool begun_ = false;
  bool direct_ = false;
  absl::Status failure_;  // The first error.
};

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_PIECE_WRITER_H_
