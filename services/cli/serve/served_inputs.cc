#include "cli/serve/served_inputs.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/quote.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/bag_weights.h"
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

// Returns an error unless each row of an input has one value, which may stand in lists only as the
// shape says.
absl::Status CheckOneValueEach(const InferInput& input) {
  for (size_t row = 0; row < input.rows; ++row) {
    const size_t values = input.Begin(row + 1) - input.Begin(row);
    if (values == 1 && input.ends.empty()) continue;
    return Bad(absl::StrCat("input ", Quoted(input.name), ": record ", row, ": ",
                            input.in_lists ? "a list of " : "", values,
                            values == 1 ? " value" : " values", "; expected one value a record: ",
                            "[1, 2] of the shape [2], or [[1], [2]] of the shape [2,1]"));
  }
  return absl::OkStatus();
}

// Returns an error if an input has a number that is no key. A fraction has more than one text, so
// its key would depend on how it is written.
absl::Status CheckKeys(const InferInput& input) {
  if (!input.fraction) return absl::OkStatus();
  size_t row = 0;
  while (input.Begin(row + 1) <= *input.fraction) ++row;
  return Bad(absl::StrCat("input ", Quoted(input.name), ": record ", row, ": ",
                          input.cells[*input.fraction],
                          " is a floating-point number in a column of keys; expected a text, a "
                          "whole number, or a floating-point number that is whole and below 2^53"));
}

// Returns a cell for each row of an input whose rows are lists.
absl::StatusOr<std::vector<std::string>> JoinLists(const InferInput& input, char separator) {
  std::vector<std::string> cells(input.rows);
  for (size_t row = 0; row < input.rows; ++row) {
    const size_t begin = input.Begin(row);
    for (size_t i = begin; i < input.Begin(row + 1); ++i) {
      const std::string& value = input.cells[i];
      if (value.empty() || value.find(separator) != value.npos) {
        return Bad(absl::StrCat("input ", Quoted(input.name), ": record ", row, ": ", Quoted(value),
                                " in a list; expected values that are not empty and lack ",
                                Quoted(std::string(1, separator)),
                                ", which separates the values of this column"));
      }
      if (i > begin) cells[row] += separator;
      cells[row] += value;
    }
  }
  return cells;
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
      columns_(ColumnsOf(data_)),
      uses_(UsesOf(data_)) {
  if (images_) {
    inputs_.push_back({kPixels, "FP32", data_.dense_width()});
    return;
  }
  inputs_.push_back({kRecords, "BYTES"});
  for (const auto& [name, column] : columns_) inputs_.push_back({name, "BYTES"});
}

std::map<uint32_t, ServedInputs::Use> ServedInputs::UsesOf(const v1::DataSpec& data) {
  std::map<uint32_t, Use> uses;
  const auto add = [&uses](uint32_t column, const Use& use) {
    const auto [found, first] = uses.try_emplace(column, use);
    found->second.keys |= use.keys;
    if (!first && found->second.separator != use.separator) found->second.separator.reset();
  };
  for (const v1::ColumnSpec& spec : data.numeric()) add(spec.column(), {});
  for (const v1::ColumnSpec& spec : data.categorical()) add(spec.column(), {.keys = true});
  for (const v1::FeatureSpec& spec : data.features()) {
    Use use = {.keys = true};
    if (spec.many()) use.separator = SeparatorOf(spec);
    add(spec.column(), use);
    if (spec.has_weights()) add(spec.weights().column(), {.separator = SeparatorOf(spec)});
  }
  return uses;
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
  if (lines_alone) {
    CAPSTAN_RETURN_IF_ERROR(CheckOneValueEach(first));
    return ReadLines(first.cells);
  }
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<std::string> lines, JoinColumns(request));
  return ReadLines(lines);
}

absl::StatusOr<Batch> ServedInputs::ReadPixels(const InferRequest& request) const {
  const InferInput& input = request.inputs[0];
  if (request.inputs.size() != 1 || input.name != kPixels) {
    return Bad(absl::StrCat("expected one input, ", kPixels, ", of the shape [images, ",
                            data_.dense_width(), "]"));
  }
  if (!input.ends.empty()) {
    return Bad(absl::StrCat("input ", Quoted(kPixels), ": record 0: a list of ", input.ends[0],
                            " values, and the shape says the images alone; expected the shape ",
                            "[images, ", data_.dense_width(), "]"));
  }
  if (input.cells.size() != input.rows * data_.dense_width()) {
    return Bad(absl::StrCat("input ", Quoted(kPixels), ": ", input.cells.size(), " values of ",
                            input.rows, " images; an image has ", data_.dense_width()));
  }
  Batch batch = NoRecords(data_);
  for (const std::string& cell : input.cells) {
    float value = 0;
    if (!ParseFloat(cell, value)) {
      return Bad(absl::StrCat("input ", Quoted(kPixels), ": ", Quoted(cell), " is not a number"));
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

absl::StatusOr<std::vector<const InferInput*>> ServedInputs::ByColumn(
    const InferRequest& request) const {
  const std::string expected =
      columns_.empty()
          ? absl::StrCat("; expected ", kRecords, " alone")
          : absl::StrCat("; expected either ", kRecords, " alone, or each of ",
                         absl::StrJoin(columns_, ", ", [](std::string* out, const auto& column) {
                           out->append(column.first);
                         }));
  const size_t rows = request.inputs[0].rows;
  std::vector<const InferInput*> of_column(data_.columns(), nullptr);
  for (const InferInput& input : request.inputs) {
    const auto found = columns_.find(input.name);
    if (found == columns_.end()) {
      return Bad(input.name == kRecords
                     ? absl::StrCat("input ", Quoted(kRecords), " is not the only input", expected)
                     : absl::StrCat("there is no input ", Quoted(input.name), expected));
    }
    const InferInput*& of = of_column[found->second];
    if (of != nullptr) {
      return Bad(absl::StrCat("input ", Quoted(input.name), " has the values of column ",
                              found->second, ", which input ", Quoted(of->name),
                              " has, too; expected one input for each column"));
    }
    of = &input;
    if (input.rows != rows) {
      return Bad(absl::StrCat("input ", Quoted(input.name), ": ", input.rows,
                              " rows, and the first input has ", rows));
    }
    const Use& use = uses_.at(found->second);
    if (!use.separator) CAPSTAN_RETURN_IF_ERROR(CheckOneValueEach(input));
    if (use.keys) CAPSTAN_RETURN_IF_ERROR(CheckKeys(input));
  }
  for (const auto& [name, column] : columns_) {
    if (of_column[column] == nullptr) {
      return Bad(absl::StrCat("input ", Quoted(name), " is missing", expected));
    }
  }
  return of_column;
}

absl::StatusOr<std::vector<std::string>> ServedInputs::JoinColumns(
    const InferRequest& request) const {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<const InferInput*> of_column, ByColumn(request));
  const bool tabs = data_.format() == v1::DATA_FORMAT_TSV;
  std::vector<std::vector<std::string>> joined(of_column.size());
  std::vector<const std::vector<std::string>*> cells(of_column.size(), nullptr);
  for (const auto& [column, use] : uses_) {
    const InferInput& input = *of_column[column];
    const bool lists = input.in_lists || input.cells.size() != input.rows;
    cells[column] = &input.cells;
    if (!lists || !use.separator) continue;
    CAPSTAN_ASSIGN_OR_RETURN(joined[column], JoinLists(input, *use.separator));
    cells[column] = &joined[column];
  }
  std::vector<std::string> lines(request.inputs[0].rows);
  for (size_t row = 0; row < lines.size(); ++row) {
    for (size_t column = 0; column < cells.size(); ++column) {
      if (column > 0) lines[row] += tabs ? '\t' : ',';
      if (cells[column] == nullptr) continue;
      const std::string& cell = (*cells[column])[row];
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
