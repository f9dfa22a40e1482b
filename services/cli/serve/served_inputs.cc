#include "cli/serve/served_inputs.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/quote.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/labels.h"
#include "capstan/data/formats/numbers.h"
#include "capstan/data/formats/record_parser.h"
#include "capstan/data/formats/samples.h"
#include "cli/model/scoring.h"

namespace capstan::cli {
namespace {

// The most records of a request, which are computed as one batch.
constexpr size_t kMostRecords = 1 << 16;
constexpr char kRecords[] = "records";
constexpr char kPixels[] = "pixels";

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

// Where the job's files are no text, lines are read as csv.
v1::DataSpec AsText(v1::DataSpec data) {
  ReadGeneratedAsText(data);
  if (data.format() == v1::DATA_FORMAT_PARQUET) data.set_format(v1::DATA_FORMAT_CSV);
  return data;
}

std::string NameOf(const std::string& name, uint32_t column) {
  return name.empty() ? absl::StrCat(column) : name;
}

bool HasColumns(const v1::DataSpec& data) {
  return data.format() == v1::DATA_FORMAT_CSV || data.format() == v1::DATA_FORMAT_TSV;
}

std::map<std::string, uint32_t> ColumnsOf(const v1::DataSpec& data) {
  std::map<std::string, uint32_t> columns;
  if (!HasColumns(data)) return columns;
  for (const v1::ColumnSpec& spec : data.numeric()) {
    columns[NameOf(spec.name(), spec.column())] = spec.column();
  }
  for (const v1::ColumnSpec& spec : data.categorical()) {
    columns[NameOf(spec.name(), spec.column())] = spec.column();
  }
  for (const v1::FeatureSpec& spec : data.features()) {
    columns[NameOf(spec.column_name(), spec.column())] = spec.column();
    if (!spec.has_weights()) continue;
    columns[NameOf(spec.weights().name(), spec.weights().column())] = spec.weights().column();
  }
  return columns;
}

// Returns a cell as it stands in a line of csv.
std::string InQuotes(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == cell.npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

ServedInputs::ServedInputs(const v1::JobSpec& job, Vocabularies vocabularies)
    : data_(AsText(job.data())),
      vocabularies_(std::move(vocabularies)),
      loss_(job.model().loss()),
      outputs_(job.model().outputs()),
      images_(data_.format() == v1::DATA_FORMAT_IDX || IsImageFormat(data_.format())),
      columns_(ColumnsOf(data_)) {
  if (images_) {
    inputs_.push_back({kPixels, "FP32", data_.dense_width()});
    return;
  }
  inputs_.push_back({kRecords, "BYTES"});
  for (const auto& [name, column] : columns_) inputs_.push_back({name, "BYTES"});
}

absl::StatusOr<Batch> ServedInputs::Read(const InferRequest& request) const {
  const InferInput& first = request.inputs[0];
  const bool lines_alone = request.inputs.size() == 1 && first.name == kRecords;
  const size_t records = lines_alone ? first.cells.size() : first.rows;
  if (records > kMostRecords) {
    return Bad(absl::StrCat(records, " records in one request; at most ", kMostRecords,
                            " are answered at a time"));
  }
  if (images_) return ReadPixels(request);
  if (lines_alone) return ReadLines(first.cells);
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<std::string> lines, JoinColumns(request));
  return ReadLines(lines);
}

absl::StatusOr<Batch> ServedInputs::ReadPixels(const InferRequest& request) const {
  const InferInput& input = request.inputs[0];
  if (request.inputs.size() != 1 || input.name != kPixels) {
    return Bad(absl::StrCat("expected one input, ", kPixels, ", of the shape [images, ",
                            data_.dense_width(), "]"));
  }
  if (input.cells.size() != input.rows * data_.dense_width()) {
    return Bad(absl::StrCat("input ", kPixels, ": ", input.cells.size(), " values of ", input.rows,
                            " images; an image has ", data_.dense_width()));
  }
  Batch batch = NoRecords(data_);
  for (const std::string& cell : input.cells) {
    float value = 0;
    if (!ParseFloat(cell, value)) {
      return Bad(absl::StrCat("input ", kPixels, ": ", Quoted(cell), " is not a number"));
    }
    batch.dense.push_back(value * data_.numeric_scale());
  }
  batch.labels.resize(input.rows);
  batch.offsets.resize(input.rows + 1, 0);
  return batch;
}

absl::StatusOr<Batch> ServedInputs::ReadLines(const std::vector<std::string>& lines) const {
  const std::unique_ptr<RecordParser> parser =
      NewRecordParser(data_, LabelRule(data_, loss_, outputs_, Labels::kIgnored), vocabularies_);
  Batch batch = NoRecords(data_);
  std::string error;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (Trim(lines[i]).empty()) return Bad(absl::StrCat("record ", i, ": is empty"));
    if (!parser->Parse(lines[i], batch, error)) return Bad(absl::StrCat("record ", i, ": ", error));
  }
  return batch;
}

absl::StatusOr<std::vector<std::string>> ServedInputs::JoinColumns(
    const InferRequest& request) const {
  const auto expected = [this] {
    return absl::StrCat("; expected ", kRecords, columns_.empty() ? "" : ", or ",
                        absl::StrJoin(columns_, ", ", [](std::string* out, const auto& column) {
                          out->append(column.first);
                        }));
  };
  const bool tabs = data_.format() == v1::DATA_FORMAT_TSV;
  const size_t rows = request.inputs[0].rows;
  std::vector<const InferInput*> of_column(data_.columns(), nullptr);
  for (const InferInput& input : request.inputs) {
    const auto found = columns_.find(input.name);
    if (found == columns_.end()) {
      return Bad(absl::StrCat("there is no input ", Quoted(input.name), expected()));
    }
    if (input.rows != rows || input.cells.size() != rows) {
      return Bad(absl::StrCat("input ", Quoted(input.name), ": ", input.cells.size(),
                              " values, and the first input has ", rows, " rows"));
    }
    of_column[found->second] = &input;
  }
  for (const auto& [name, column] : columns_) {
    if (of_column[column] == nullptr) {
      return Bad(absl::StrCat("input ", Quoted(name), " is missing", expected()));
    }
  }
  std::vector<std::string> lines(rows);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < of_column.size(); ++column) {
      if (column > 0) lines[row] += tabs ? '\t' : ',';
      if (of_column[column] == nullptr) continue;
      const std::string& cell = of_column[column]->cells[row];
      if (tabs && cell.find_first_of("\t\r\n") != cell.npos) {
        return Bad(absl::StrCat("input ", Quoted(of_column[column]->name), ": row ", row,
                                ": a tab or the end of a line cannot be a part of a value"));
      }
      lines[row] += tabs ? cell : InQuotes(cell);
    }
  }
  return lines;
}

}  // namespace capstan::cli
