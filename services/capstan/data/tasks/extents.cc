#include "capstan/data/tasks/extents.h"

#include <cmath>
#include <utility>

#include "capstan/base/status.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/idx.h"
#include "capstan/data/formats/record_parser.h"
#include "capstan/data/parquet/parquet_file.h"
#include "capstan/data/tasks/count_records.h"

namespace capstan {
namespace {

absl::StatusOr<Extent> TextExtent(const Source& source, const FileInfo& file, bool header,
                                  uint64_t& countable_bytes) {
  CAPSTAN_ASSIGN_OR_RETURN(Compression compression, DetectCompression(source, file.path));
  if (compression != Compression::kNone && file.bytes <= countable_bytes) {
    countable_bytes -= file.bytes;
    CAPSTAN_ASSIGN_OR_RETURN(uint64_t records, CountRecords(source, file.path, header));
    return Extent{.file = file.path, .by_records = true, .length = records};
  }
  CAPSTAN_ASSIGN_OR_RETURN(double bytes, EstimateRecordBytes(source, file.path, header));
  if (compression == Compression::kNone) {
    return Extent{.file = file.path, .length = file.bytes, .record_bytes = bytes};
  }
  const double records = bytes > 0 ? std::ceil(static_cast<double>(file.bytes) / bytes) : 0;
  return Extent{.file = file.path,
                .by_records = true,
                .estimated = true,
                .length = static_cast<uint64_t>(records)};
}

absl::StatusOr<std::vector<Extent>> TextExtents(const Source& source, bool header,
                                                const std::vector<FileInfo>& files,
                                                uint64_t countable_bytes) {
  std::vector<Extent> extents;
  for (const FileInfo& file : files) {
    CAPSTAN_ASSIGN_OR_RETURN(Extent extent, TextExtent(source, file, header, countable_bytes));
    extents.push_back(std::move(extent));
  }
  return extents;
}

absl::StatusOr<std::vector<Extent>> IdxExtents(const Source& source,
                                               const std::vector<FileInfo>& files) {
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<IdxPair> pairs, PairIdxFiles(source, files));
  std::vector<Extent> extents;
  for (const IdxPair& pair : pairs) {
    CAPSTAN_ASSIGN_OR_RETURN(IdxFile images, IdxFile::Open(source, pair.images.path));
    extents.push_back({.file = pair.images.path,
                       .labels_file = pair.labels,
                       .by_records = true,
                       .length = images.items()});
  }
  return extents;
}

absl::StatusOr<std::vector<Extent>> ParquetExtents(const Source& source,
                                                   const std::vector<FileInfo>& files) {
  std::vector<Extent> extents;
  for (const FileInfo& file : files) {
    CAPSTAN_ASSIGN_OR_RETURN(const parquet::ParquetFile parquet,
                             parquet::OpenParquetFile(source, file.path));
    Extent& extent = extents.emplace_back(
        Extent{.file = file.path, .by_records = true, .length = parquet.metadata.rows});
    for (const parquet::RowGroup& group : parquet.metadata.row_groups) {
      extent.group_ends.push_back(group.first_row + group.rows);
    }
  }
  return extents;
}

Extent SyntheticExtent(const v1::SyntheticSpec& spec, Split split) {
  const bool eval = split == Split::kEval;
  return {.file = eval ? kSyntheticEval : kSyntheticTrain,
          .by_records = true,
          .length = eval ? spec.eval_rows() : spec.train_rows()};
}

}  // namespace

absl::StatusOr<std::vector<FileInfo>> ListFiles(const Source& source, const v1::DataSpec& data,
                                                Split split) {
  std::vector<FileInfo> files;
  for (const std::string& pattern : split == Split::kTrain ? data.train() : data.eval()) {
    CAPSTAN_ASSIGN_OR_RETURN(std::vector<FileInfo> matches, source.List(pattern));
    files.insert(files.end(), matches.begin(), matches.end());
  }
  return files;
}

absl::StatusOr<std::vector<Extent>> FindExtents(const Source& source, const v1::DataSpec& data,
                                                const PlanOptions& options) {
  if (data.format() == v1::DATA_FORMAT_SYNTHETIC) {
    return std::vector<Extent>{SyntheticExtent(data.synthetic(), options.split)};
  }
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<FileInfo> files, ListFiles(source, data, options.split));
  if (IsTextFormat(data.format()))
    return TextExtents(source, data.header(), files, options.counted_bytes);
  if (data.format() == v1::DATA_FORMAT_IDX) return IdxExtents(source, files);
  if (data.format() == v1::DATA_FORMAT_PARQUET) return ParquetExtents(source, files);
  return absl::InvalidArgumentError("data: no format");
}

}  // namespace capstan
