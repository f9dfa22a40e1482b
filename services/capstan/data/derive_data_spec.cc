#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/cells.h"
#include "capstan/data/click_log.h"
#include "capstan/data/compression.h"
#include "capstan/data/idx.h"
#include "capstan/data/line_reader.h"
#include "capstan/data/record_parser.h"
#include "capstan/data/tasks.h"

namespace capstan {
namespace {

absl::StatusOr<std::vector<FileInfo>> FirstFiles(const Source& source, const v1::DataSpec& data) {
  if (data.train().empty() && data.eval().empty()) {
    return absl::InvalidArgumentError("data: no file is named");
  }
  return source.List(data.train().empty() ? data.eval(0) : data.train(0));
}

absl::StatusOr<uint32_t> CountColumns(const Source& source, const std::string& path,
                                      v1::DataFormat format) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> contents, OpenContents(source, path));
  LineReader lines(path, std::move(contents), 0);
  std::string_view line;
  if (!lines.Next(line)) {
    CAPSTAN_RETURN_IF_ERROR(lines.status());
    return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
  }
  CellScanner cells(format);
  cells.Begin(line);
  std::string_view cell;
  uint32_t columns = 0;
  while (cells.Next(cell)) ++columns;
  if (!cells.malformed()) return columns;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ":1: column ", columns, ": a quote that does not end with the cell"));
}

absl::Status CheckColumn(const v1::DataSpec& data, uint32_t column, const std::string& path,
                         std::vector<const char*>& uses, const char* use) {
  if (column >= data.columns()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has ", data.columns(), " columns, but the schema's ", use,
                     " names column ", column, " (they are counted from 0)"));
  }
  if (uses[column] != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("schema: column ", column, " is both ", uses[column], " and ", use));
  }
  uses[column] = use;
  return absl::OkStatus();
}

absl::Status DeriveCells(const Source& source, v1::DataSpec& data) {
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<FileInfo> files, FirstFiles(source, data));
  const std::string& path = files.front().path;
  CAPSTAN_ASSIGN_OR_RETURN(uint32_t columns, CountColumns(source, path, data.format()));
  data.set_columns(columns);
  std::vector<const char*> uses(columns, nullptr);
  CAPSTAN_RETURN_IF_ERROR(CheckColumn(data, data.label_column(), path, uses, "label"));
  uint32_t numbers = 0;
  uint32_t fields = 0;
  for (const v1::ColumnSpec& column : data.numeric()) {
    CAPSTAN_RETURN_IF_ERROR(CheckColumn(data, column.column(), path, uses, "numeric"));
    ++(column.transform() == v1::NUMERIC_TRANSFORM_BUCKET ? fields : numbers);
  }
  for (const v1::ColumnSpec& column : data.categorical()) {
    CAPSTAN_RETURN_IF_ERROR(CheckColumn(data, column.column(), path, uses, "categorical"));
    ++fields;
  }
  data.set_fields(fields);
  data.set_dense_width(numbers);
  return absl::OkStatus();
}

absl::Status DeriveIdx(const Source& source, v1::DataSpec& data) {
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<FileInfo> files, FirstFiles(source, data));
  for (const FileInfo& file : files) {
    CAPSTAN_ASSIGN_OR_RETURN(IdxFile idx, IdxFile::Open(source, file.path));
    if (idx.item_shape().empty()) continue;
    data.set_fields(0);
    data.set_dense_width(static_cast<uint32_t>(idx.item_bytes()));
    if (idx.item_shape().size() >= 2) {
      data.mutable_image_shape()->Assign(idx.item_shape().begin(), idx.item_shape().end());
    }
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(files.front().path, ": holds no images"));
}

}  // namespace

absl::Status DeriveDataSpec(const Source& source, v1::DataSpec& data) {
  if (data.numeric_scale() == 0) {
    data.set_numeric_scale(data.format() == v1::DATA_FORMAT_IDX ? 1.0f / 255 : 1.0f);
  }
  switch (data.format()) {
    case v1::DATA_FORMAT_CSV:
    case v1::DATA_FORMAT_TSV:
      return DeriveCells(source, data);
    case v1::DATA_FORMAT_LIBSVM:
    case v1::DATA_FORMAT_LIBFM:
      data.set_dense_width(0);
      return FirstFiles(source, data).status();
    case v1::DATA_FORMAT_IDX:
      return DeriveIdx(source, data);
    case v1::DATA_FORMAT_SYNTHETIC:
      data.set_fields(static_cast<uint32_t>(ClickLogColumns(data.synthetic())));
      data.set_dense_width(0);
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("data: no format");
  }
}

}  // namespace capstan
