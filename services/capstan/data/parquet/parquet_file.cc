#include "capstan/data/parquet/parquet_file.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/looks_like.h"
#include "capstan/data/parquet/little_endian.h"
#include "capstan/data/parquet/ranged_file.h"

namespace capstan::parquet {
namespace {

constexpr uint64_t kTail = 8;               // The footer's length and the magic bytes after it.
constexpr uint64_t kMagic = 4;              // The magic bytes with which the file begins.
constexpr uint64_t kTailAtOnce = 64 << 10;  // Most footers are shorter.
constexpr uint64_t kMostFooter = uint64_t{256} << 20;

absl::Status NoParquetFile(RangedFile& file) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view begin, file.Peek(0, kTail));
  if (begin.starts_with("PARE")) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path(), ": is encrypted; encrypted Parquet files cannot be read"));
  }
  if (begin.starts_with("PAR1")) {
    return absl::DataLossError(absl::StrCat(
        file.path(), ": begins as a Parquet file and does not end as one; is it truncated?"));
  }
  const std::string looks = LooksLike(begin);
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": is no Parquet file",
                                                 looks.empty() ? "" : "; it looks like ", looks));
}

}  // namespace

absl::StatusOr<ParquetFile> OpenParquetFile(const Source& source, const std::string& path) {
  CAPSTAN_ASSIGN_OR_RETURN(FileInfo info, source.Find(path));
  RangedFile file(source, info);
  const auto damaged = [&path](auto... what) {
    return absl::DataLossError(absl::StrCat(path, ": ", what...));
  };
  if (info.bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is empty; expected a Parquet file"));
  }
  if (info.bytes < kMagic + kTail) return NoParquetFile(file);
  const uint64_t at_once = std::min(kTailAtOnce, info.bytes);
  CAPSTAN_ASSIGN_OR_RETURN(std::string_view end, file.Peek(info.bytes - at_once, at_once));
  if (end.size() < at_once) return damaged("is being written, or has become shorter");
  const std::string_view magic = end.substr(at_once - kMagic);
  if (magic == "PARE") {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is encrypted; encrypted Parquet files cannot be read"));
  }
  if (magic != "PAR1") return NoParquetFile(file);
  const uint64_t length = LittleEndian(end.substr(at_once - kTail, kTail - kMagic));
  if (length > info.bytes - kMagic - kTail) {
    return damaged("its footer of ", length, " bytes does not fit into the file of ", info.bytes);
  }
  if (length > kMostFooter) {
    return damaged("its footer has ", length, " bytes, at most ", kMostFooter, " are possible");
  }
  const uint64_t data_bytes = info.bytes - kTail - length;
  std::vector<char> longer;
  if (length + kTail <= at_once) {
    end = end.substr(at_once - kTail - length, length);
  } else {
    CAPSTAN_RETURN_IF_ERROR(file.Read(data_bytes, length, longer));
    end = std::string_view(longer.data(), longer.size());
  }
  absl::StatusOr<FileMetadata> metadata = ParseFooter(end, data_bytes);
  if (!metadata.ok()) return damaged(metadata.status().message());
  return ParquetFile{
      .info = std::move(info), .footer_bytes = length, .metadata = *std::move(metadata)};
}

}  // namespace capstan::parquet
