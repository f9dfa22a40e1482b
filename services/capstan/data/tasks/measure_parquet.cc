#include "capstan/data/tasks/measure_parquet.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "capstan/base/status.h"
#include "capstan/data/parquet/parquet_file.h"
#include "capstan/data/tasks/task_reader.h"

namespace capstan {
namespace {

constexpr uint64_t kRowsAtOnce = 1 << 16;
constexpr uint64_t kRanges = 256;

// Returns the names of the label's and the numeric columns by column; empty if the schema only
// numbers a column.
std::map<uint32_t, std::string> NamesOf(const v1::DataSpec& data) {
  std::map<uint32_t, std::string> names = {{data.label_column(), data.label_name()}};
  for (const v1::ColumnSpec& column : data.numeric()) names[column.column()] = column.name();
  return names;
}

// Returns options of a reader that reads only the measured columns, as dense numbers; an empty cell
// becomes NaN.
ReaderOptions MeasuringOptions(const v1::DataSpec& data, const ColumnMoments& moments) {
  std::map<uint32_t, std::string> names = NamesOf(data);
  v1::DataSpec measured;
  measured.set_format(data.format());
  measured.set_columns(data.columns());
  measured.set_label_column(data.label_column());
  measured.set_numeric_scale(1);
  measured.set_dense_width(static_cast<uint32_t>(moments.size()));
  // Bad records are reported elsewhere.
  measured.set_max_bad_records(std::numeric_limits<uint64_t>::max());
  for (const auto& [column, unused] : moments) {
    v1::ColumnSpec& spec = *measured.add_numeric();
    spec.set_column(column);
    spec.set_name(names[column]);
    spec.set_missing(std::numeric_limits<float>::quiet_NaN());
  }
  return {.data = std::move(measured),
          .loss = v1::LOSS_SQUARED,
          .labels = Labels::kIgnored,
          .batch_size = static_cast<uint32_t>(kRowsAtOnce)};
}

struct RowRange {
  std::string file;
  uint64_t begin = 0;
  uint64_t end = 0;
};

absl::StatusOr<std::vector<RowRange>> RangesToMeasure(const Source& source,
                                                      const std::vector<FileInfo>& files,
                                                      uint64_t measured_bytes) {
  std::vector<RowRange> ranges;
  uint64_t bytes = 0;
  for (const FileInfo& file : files) bytes += file.bytes;
  const double share =
      bytes == 0 ? 1
                 : std::min(1.0, static_cast<double>(measured_bytes) / static_cast<double>(bytes));
  const uint64_t ranges_a_file = share < 1 ? kRanges / files.size() + 1 : 1;
  for (const FileInfo& file : files) {
    CAPSTAN_ASSIGN_OR_RETURN(const parquet::ParquetFile parquet,
                             parquet::OpenParquetFile(source, file.path));
    const uint64_t rows = parquet.metadata.rows;
    for (uint64_t i = 0; i < ranges_a_file; ++i) {
      const uint64_t begin = rows * i / ranges_a_file;
      const uint64_t end = rows * (i + 1) / ranges_a_file;
      const double wanted = std::ceil(static_cast<double>(end - begin) * share);
      ranges.push_back({file.path, begin, begin + static_cast<uint64_t>(wanted)});
    }
  }
  return ranges;
}

void AddBatch(const Batch& batch, ColumnMoments& moments) {
  for (size_t example = 0; example < batch.examples(); ++example) {
    auto value = batch.DenseOf(example).begin();
    for (auto& [column, sums] : moments) {
      if (!std::isnan(*value)) sums.Add(*value);
      ++value;
    }
  }
}

}  // namespace

absl::Status MeasureParquet(const Source& source, const v1::DataSpec& data,
                            const std::vector<FileInfo>& files, uint64_t measured_bytes,
                            ColumnMoments& moments) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<RowRange> ranges,
                           RangesToMeasure(source, files, measured_bytes));
  TaskReader reader(MeasuringOptions(data, moments), source);
  Batch batch;
  for (const RowRange& range : ranges) {
    for (uint64_t begin = range.begin; begin < range.end; begin += kRowsAtOnce) {
      v1::Task task;
      task.set_file(range.file);
      task.set_by_records(true);
      task.set_begin(begin);
      task.set_end(std::min(range.end, begin + kRowsAtOnce));
      CAPSTAN_ASSIGN_OR_RETURN(const std::shared_ptr<const LoadedTask> loaded,
                               reader.Read({.task = task, .evaluation = true}));
      for (uint64_t k = 0; k < loaded->batch_count(); ++k) {
        CAPSTAN_RETURN_IF_ERROR(loaded->ReadBatch(k, batch));
        AddBatch(batch, moments);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace capstan
