#include "capstan/data/tasks/measure_data.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/base/status.h"
#include "capstan/data/formats/cells.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/line_reader.h"
#include "capstan/data/formats/numbers.h"
#include "capstan/data/formats/record_parser.h"
#include "capstan/data/tasks/extents.h"
#include "capstan/data/tasks/measure_parquet.h"
#include "capstan/data/tasks/moments.h"

namespace capstan {
namespace {

// Adds the values of the text lines that are passed to it to the moments. Thread-compatible.
class Measurer {
 public:
  explicit Measurer(const v1::DataSpec& data)
      : data_(data),
        cells_(data.format()),
        pairs_(data.columns() == 0),
        moments_(MomentsToMeasure(data)) {}

  void Take(std::string_view line) {
    values_.clear();
    if (!(pairs_ ? TakePairs(line) : TakeCells(line))) return;
    for (const auto& [moments, value] : values_) moments->Add(value);
  }

  const ColumnMoments& moments() const { return moments_; }

 private:
  // The label is the text before the first blank.
  bool TakePairs(std::string_view line) {
    const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(begin);
    return Note(moments_.begin()->second, line.substr(0, line.find_first_of(" \t")));
  }

  bool TakeCells(std::string_view line) {
    cells_.Begin(line);
    std::string_view cell;
    uint32_t column = 0;
    for (auto wanted = moments_.begin(); cells_.Next(cell); ++column) {
      if (wanted == moments_.end() || wanted->first != column) continue;
      if (!cell.empty() && !Note(wanted->second, cell)) return false;
      ++wanted;
    }
    return column == data_.columns() && !cells_.malformed();
  }

  bool Note(Moments& moments, std::string_view text) {
    float value;
    if (!ParseFloat(text, value)) return false;
    values_.emplace_back(&moments, value);
    return true;
  }

  const v1::DataSpec& data_;
  CellScanner cells_;
  const bool pairs_;  // libsvm, libfm.
  ColumnMoments moments_;
  // The values of one line, each with the moments to which it is added.
  std::vector<std::pair<Moments*, float>> values_;
};

// Fills in the means and deviations that `data` lacks.
void Tell(const ColumnMoments& moments, v1::DataSpec& data) {
  if (data.standardize_label() && data.label_deviation() == 0) {
    const Moments& label = moments.at(data.columns() == 0 ? 0 : data.label_column());
    data.set_label_mean(label.mean());
    data.set_label_deviation(label.deviation());
  }
  for (v1::ColumnSpec& column : *data.mutable_numeric()) {
    if (!IsStandard(column) || column.deviation() != 0) continue;
    const Moments& measured = moments.at(column.column());
    column.set_mean(measured.mean());
    column.set_deviation(measured.deviation());
  }
}

// The lines to measure in a file: from the first that begins at or after `begin`, until `bytes`
// bytes were read.
struct Part {
  std::string file;
  uint64_t begin = 0;
  uint64_t bytes = std::numeric_limits<uint64_t>::max();
};

// Returns the parts of the files to measure: all files completely, or ranges of them.
std::vector<Part> PartsOf(const std::vector<FileInfo>& files, uint64_t measured_bytes) {
  uint64_t total = 0;
  for (const FileInfo& file : files) total += file.bytes;
  std::vector<Part> parts;
  if (total <= measured_bytes) {
    for (const FileInfo& file : files) parts.push_back({.file = file.path});
    return parts;
  }
  const uint64_t ranges = std::max<uint64_t>(measured_bytes / kMeasuredRange, 2);
  const uint64_t length = measured_bytes / ranges;
  size_t file = 0;
  uint64_t before = 0;  // Total bytes of the files before it.
  for (uint64_t i = 0; i < ranges; ++i) {
    const auto at = static_cast<uint64_t>(static_cast<double>(total - length) *
                                          static_cast<double>(i) / static_cast<double>(ranges - 1));
    while (file + 1 < files.size() && at >= before + files[file].bytes) {
      before += files[file++].bytes;
    }
    parts.push_back({.file = files[file].path, .begin = at - before, .bytes = length});
  }
  return parts;
}

// Replaces the parts of a compressed file by one at its beginning, where such a file must be read.
absl::StatusOr<std::vector<Part>> Readable(const Source& source, std::vector<Part> parts) {
  std::vector<Part> readable;
  Compression compression = Compression::kNone;
  for (Part& part : parts) {
    const bool same_file = !readable.empty() && readable.back().file == part.file;
    if (!same_file) {
      CAPSTAN_ASSIGN_OR_RETURN(compression, DetectCompression(source, part.file));
    }
    if (compression != Compression::kNone) {
      part.begin = 0;
      if (same_file) readable.back().bytes += part.bytes;
      if (same_file) continue;
    }
    readable.push_back(std::move(part));
  }
  return readable;
}

absl::Status MeasurePart(const Source& source, const Part& part, bool header, Measurer& measurer) {
  std::unique_ptr<ByteStream> stream;
  const bool from_front = part.begin == 0;
  // Read from one byte earlier, to see whether a line begins exactly at `begin`.
  const uint64_t start = from_front ? 0 : part.begin - 1;
  if (from_front) {
    CAPSTAN_ASSIGN_OR_RETURN(stream, OpenContents(source, part.file));
  } else {
    CAPSTAN_ASSIGN_OR_RETURN(stream, source.Open(part.file, start, start + part.bytes));
  }
  LineReader lines(part.file, std::move(stream), start);
  std::string_view line;
  if (!from_front || header) lines.Next(line);
  while (lines.next_offset() - start < part.bytes && lines.Next(line)) measurer.Take(line);
  return lines.status();
}

}  // namespace

bool LacksMeasures(const v1::DataSpec& data) {
  if (data.standardize_label() && data.label_deviation() == 0) return true;
  return std::any_of(
      data.numeric().begin(), data.numeric().end(),
      [](const v1::ColumnSpec& column) { return IsStandard(column) && column.deviation() == 0; });
}

absl::Status MeasureData(const Source& source, v1::DataSpec& data, uint64_t measured_bytes) {
  if (!LacksMeasures(data)) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<FileInfo> files,
                           ListFiles(source, data, Split::kTrain));
  if (data.format() == v1::DATA_FORMAT_PARQUET) {
    ColumnMoments moments = MomentsToMeasure(data);
    CAPSTAN_RETURN_IF_ERROR(MeasureParquet(source, data, files, measured_bytes, moments));
    Tell(moments, data);
    return absl::OkStatus();
  }
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<Part> parts,
                           Readable(source, PartsOf(files, measured_bytes)));
  const v1::DataSpec as_given = data;
  Measurer measurer(as_given);
  for (const Part& part : parts) {
    CAPSTAN_RETURN_IF_ERROR(MeasurePart(source, part, data.header(), measurer));
  }
  Tell(measurer.moments(), data);
  return absl::OkStatus();
}

void AdoptMeasures(const v1::DataSpec& known, v1::DataSpec& data) {
  if (data.standardize_label() && known.standardize_label() && data.label_deviation() == 0) {
    data.set_label_mean(known.label_mean());
    data.set_label_deviation(known.label_deviation());
  }
  for (v1::ColumnSpec& column : *data.mutable_numeric()) {
    if (!IsStandard(column) || column.deviation() != 0) continue;
    for (const v1::ColumnSpec& other : known.numeric()) {
      if (!IsStandard(other) || other.column() != column.column()) continue;
      column.set_mean(other.mean());
      column.set_deviation(other.deviation());
    }
  }
}

}  // namespace capstan
