// The IDX format of MNIST: images and labels in two files.
//
//   file = 0x00 0x00 0x08 dimensions size{dimensions} byte*     sizes: uint32, big-endian
//
// Only unsigned bytes (0x08) are supported. A file of images has at least two dimensions: the first
// size is the number of images, the others are their shape. A file of labels has one dimension.
#ifndef CAPSTAN_DATA_FORMATS_IDX_H_
#define CAPSTAN_DATA_FORMATS_IDX_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/labels.h"
#include "capstan/data/formats/source.h"

namespace capstan {

// One file, read from its beginning to its end. Thread-compatible.
class IdxFile {
 public:
  // Opens the file and reads its header. DATA_LOSS: the header is malformed.
  static absl::StatusOr<IdxFile> Open(const Source& source, const std::string& path);

  uint64_t items() const { return items_; }
  const std::vector<uint32_t>& item_shape() const { return shape_; }  // Empty for labels.
  size_t item_bytes() const { return item_bytes_; }
  uint64_t next_item() const { return next_; }

  // Reads items [first, first + count) into `bytes`. REQUIRES: first >= next_item(); bytes.size()
  // == count * item_bytes().
  absl::Status Read(uint64_t first, std::span<char> bytes);

 private:
  IdxFile() = default;
  absl::Status ReadHeader();
  absl::Status ReadExactly(std::span<char> bytes);
  absl::Status Skip(uint64_t bytes);

  std::string path_;
  std::unique_ptr<ByteStream> stream_;
  std::vector<uint32_t> shape_;
  uint64_t items_ = 0;
  size_t item_bytes_ = 1;
  uint64_t next_ = 0;
  uint64_t read_ = 0;  // How many decompressed bytes were read.
};

struct IdxPair {
  FileInfo images;
  std::string labels;  // Empty: labels are ignored.
};

// Pairs files of images with files of labels. A file of labels belongs to the file of images named
// before it. A file of images that is not followed by labels gets the file of the same name with
// `images` replaced by `labels` and `idx3` by `idx1`, which must exist. With Labels::kIgnored no
// file of labels is needed or opened.
absl::StatusOr<std::vector<IdxPair>> PairIdxFiles(const Source& source,
                                                  std::span<const FileInfo> files, Labels labels);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_IDX_H_
