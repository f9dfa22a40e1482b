#include "capstan/data/formats/idx.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/compression.h"

namespace capstan {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;
constexpr int kMaxDimensions = 4;
constexpr uint64_t kMaxItemBytes = uint64_t{1} << 24;

uint32_t BigEndian(const char* bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

absl::StatusOr<IdxFile> IdxFile::Open(const Source& source, const std::string& path) {
  IdxFile file;
  file.path_ = path;
  CAPSTAN_ASSIGN_OR_RETURN(file.stream_, OpenContents(source, path));
  CAPSTAN_RETURN_IF_ERROR(file.ReadHeader());
  return file;
}

absl::Status IdxFile::ReadHeader() {
  char bytes[4];
  CAPSTAN_RETURN_IF_ERROR(ReadExactly(bytes));
  const int dimensions = static_cast<uint8_t>(bytes[3]);
  if (bytes[0] != 0 || bytes[1] != 0 || bytes[2] != kUnsignedByte || dimensions < 1 ||
      dimensions > kMaxDimensions) {
    return absl::DataLossError(absl::StrCat(
        path_, ": byte 0: expected the header of an idx file of unsigned bytes (00 00 08 and 1 to ",
        kMaxDimensions, " dimensions)"));
  }
  uint64_t item_bytes = 1;
  for (int i = 0; i < dimensions; ++i) {
    CAPSTAN_RETURN_IF_ERROR(ReadExactly(bytes));
    if (i == 0) {
      items_ = BigEndian(bytes);
      continue;
    }
    shape_.push_back(BigEndian(bytes));
    item_bytes *= shape_.back();
    if (item_bytes == 0 || item_bytes > kMaxItemBytes) {
      return absl::DataLossError(absl::StrCat(path_, ": byte ", read_ - 4, ": an item of ",
                                              item_bytes, " bytes is not possible"));
    }
  }
  item_bytes_ = item_bytes;
  return absl::OkStatus();
}

absl::Status IdxFile::Read(uint64_t first, std::span<char> bytes) {
  CAPSTAN_RETURN_IF_ERROR(Skip((first - next_) * item_bytes_));
  CAPSTAN_RETURN_IF_ERROR(ReadExactly(bytes));
  next_ = first + bytes.size() / item_bytes_;
  return absl::OkStatus();
}

absl::Status IdxFile::ReadExactly(std::span<char> bytes) {
  while (!bytes.empty()) {
    CAPSTAN_ASSIGN_OR_RETURN(size_t n, stream_->Read(bytes));
    if (n == 0) {
      return absl::DataLossError(absl::StrCat(path_, ": byte ", read_,
                                              ": the file ends early; its header tells of ", items_,
                                              " items of ", item_bytes_, " bytes"));
    }
    read_ += n;
    bytes = bytes.subspan(n);
  }
  return absl::OkStatus();
}

absl::Status IdxFile::Skip(uint64_t bytes) {
  std::vector<char> ignored(std::min<uint64_t>(bytes, 64 << 10));
  while (bytes > 0) {
    const size_t n = std::min<uint64_t>(bytes, ignored.size());
    CAPSTAN_RETURN_IF_ERROR(ReadExactly(std::span(ignored).first(n)));
    bytes -= n;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<IdxPair>> PairIdxFiles(const Source& source,
                                                  std::span<const FileInfo> files, Labels labels) {
  std::vector<IdxPair> pairs;
  for (const FileInfo& file : files) {
    CAPSTAN_ASSIGN_OR_RETURN(IdxFile idx, IdxFile::Open(source, file.path));
    if (!idx.item_shape().empty()) {
      pairs.push_back({file, ""});
      continue;
    }
    if (pairs.empty() || !pairs.back().labels.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.path, ": labels without images before them"));
    }
    pairs.back().labels = file.path;
  }
  if (labels == Labels::kIgnored) {
    for (IdxPair& pair : pairs) pair.labels.clear();
    return pairs;
  }
  for (IdxPair& pair : pairs) {
    if (pair.labels.empty()) {
      const size_t folder = pair.images.path.rfind('/') + 1;  // 0 where there is no slash.
      pair.labels = pair.images.path.substr(0, folder) +
                    absl::StrReplaceAll(pair.images.path.substr(folder),
                                        {{"images", "labels"}, {"idx3", "idx1"}});
    }
    if (pair.labels == pair.images.path) {
      return absl::NotFoundError(absl::StrCat(
          pair.images.path, ": its labels cannot be found by name; name their file after it"));
    }
    CAPSTAN_ASSIGN_OR_RETURN(IdxFile images, IdxFile::Open(source, pair.images.path));
    CAPSTAN_ASSIGN_OR_RETURN(IdxFile beside, IdxFile::Open(source, pair.labels));
    if (images.items() != beside.items() || !beside.item_shape().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(pair.labels, ": expected ", images.items(),
                                                     " labels for the images in ", pair.images.path,
                                                     ", found ", beside.items()));
    }
  }
  return pairs;
}

}  // namespace capstan
