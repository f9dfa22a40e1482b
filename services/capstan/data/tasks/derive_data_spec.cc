#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "capstan/base/status.h"
#include "capstan/config/data_labels.h"
#include "capstan/config/spelling.h"
#include "capstan/data/formats/cells.h"
#include "capstan/data/formats/class_folders.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/idx.h"
#include "capstan/data/formats/line_reader.h"
#include "capstan/data/formats/measures_file.h"
#include "capstan/data/formats/numbers.h"
#include "capstan/data/formats/quote.h"
#include "capstan/data/formats/record_parser.h"
#include "capstan/data/formats/samples.h"
#include "capstan/data/formats/vocabulary.h"
#include "capstan/data/parquet/parquet_file.h"
#include "capstan/data/synthetic/click_log.h"
#include "capstan/data/tasks/candidates.h"
#include "capstan/data/tasks/other_format.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan {
namespace {

constexpr size_t kShownNames = 20;

absl::StatusOr<std::vector<FileInfo>> FirstFiles(const Source& source, const v1::DataSpec& data) {
  if (data.train().empty() && data.eval().empty()) {
    return absl::InvalidArgumentError("data: no file is named");
  }
  return source.List(data.train().empty() ? data.eval(0) : data.train(0));
}

// Returns the cells of the file's first line; an empty list if it has no line.
absl::StatusOr<std::vector<std::string>> FirstCells(const Source& source, const std::string& path,
                                                    v1::DataFormat format) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> contents, OpenContents(source, path));
  LineReader lines(path, std::move(contents), 0);
  std::string_view line;
  if (!lines.Next(line)) {
    CAPSTAN_RETURN_IF_ERROR(lines.status());
    return std::vector<std::string>();
  }
  CAPSTAN_RETURN_IF_ERROR(CheckFirstLine(path, line, format));
  CellScanner scanner(format);
  scanner.Begin(line);
  std::vector<std::string> cells;
  for (std::string_view cell; scanner.Next(cell);) cells.emplace_back(Trim(cell));
  if (!scanner.malformed()) return cells;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ":1: column ", cells.size(), ": a quote that does not end with the cell"));
}

struct FirstLine {
  std::string path;
  std::vector<std::string> cells;
};

// Returns the first line of the first file that has one. Programs such as Spark write an empty file
// for a part without records.
absl::StatusOr<FirstLine> FindFirstLine(const Source& source, const v1::DataSpec& data) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<FileInfo> files, FirstFiles(source, data));
  for (const FileInfo& file : files) {
    if (file.bytes == 0) continue;
    CAPSTAN_ASSIGN_OR_RETURN(std::vector<std::string> cells,
                             FirstCells(source, file.path, data.format()));
    if (!cells.empty()) return FirstLine{file.path, std::move(cells)};
  }
  return absl::InvalidArgumentError(
      absl::StrCat(files.front().path, ": is empty",
                   files.size() == 1 ? "" : ", as is each file that is named with it"));
}

// Finds the columns that the schema names in a file's header line. Immutable.
class ColumnFinder {
 public:
  // `where` names the file, for text also its header line, in messages. Both must outlive this
  // object.
  ColumnFinder(const std::string& where, const std::vector<std::string>& names)
      : where_(where), names_(names) {}

  // Sets `column` to the column called `name`, unless `name` is empty. `use`: the key of job.yaml,
  // below data, that names the column.
  template <typename Set>
  absl::Status Find(const std::string& name, const char* use, Set set_column) const {
    if (name.empty()) return absl::OkStatus();
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) return NoSuchColumn(name, use);
    if (std::find(found + 1, names_.end(), name) != names_.end()) {
      return absl::InvalidArgumentError(absl::StrCat(where_, ": two columns are named ",
                                                     Quote(name), "; count the one that is meant"));
    }
    set_column(static_cast<uint32_t>(found - names_.begin()));
    return absl::OkStatus();
  }

 private:
  absl::Status NoSuchColumn(const std::string& name, const char* use) const {
    const std::vector<absl::string_view> names(names_.begin(), names_.end());
    const absl::string_view nearest = Nearest(name, names);
    std::string error =
        absl::StrCat(where_, ": no column is named ", Quote(name), ", as data.", use, " says; ");
    if (!nearest.empty()) absl::StrAppend(&error, "did you mean ", nearest, "? ");
    const size_t shown = std::min(names_.size(), kShownNames);
    absl::StrAppend(
        &error, "there are ",
        absl::StrJoin(
            names_.begin(), names_.begin() + static_cast<ptrdiff_t>(shown), ", ",
            [](std::string* out, const std::string& each) { absl::StrAppend(out, Quote(each)); }),
        shown < names_.size() ? " and more" : "");
    return absl::InvalidArgumentError(error);
  }

  const std::string& where_;
  const std::vector<std::string>& names_;
};

absl::Status FindNamedColumns(const ColumnFinder& finder, v1::DataSpec& data) {
  CAPSTAN_RETURN_IF_ERROR(finder.Find(data.label_name(), "schema.label",
                                      [&data](uint32_t column) { data.set_label_column(column); }));
  for (v1::LabelSpec& spec : *data.mutable_labels()) {
    CAPSTAN_RETURN_IF_ERROR(finder.Find(spec.column_name(),
                                        absl::StrCat("schema.labels.", spec.name()).c_str(),
                                        [&spec](uint32_t column) { spec.set_column(column); }));
  }
  const auto find = [&finder](const char* use, v1::ColumnSpec& spec) {
    return finder.Find(spec.name(), use, [&spec](uint32_t column) { spec.set_column(column); });
  };
  const auto find_all = [&find](const char* use, auto& columns) {
    for (v1::ColumnSpec& spec : columns) CAPSTAN_RETURN_IF_ERROR(find(use, spec));
    return absl::OkStatus();
  };
  if (data.has_weight()) {
    CAPSTAN_RETURN_IF_ERROR(find("schema.weight", *data.mutable_weight()));
  }
  if (data.has_group()) CAPSTAN_RETURN_IF_ERROR(find("schema.group", *data.mutable_group()));
  CAPSTAN_RETURN_IF_ERROR(find_all("schema.numeric", *data.mutable_numeric()));
  CAPSTAN_RETURN_IF_ERROR(find_all("schema.categorical", *data.mutable_categorical()));
  for (v1::FeatureSpec& spec : *data.mutable_features()) {
    CAPSTAN_RETURN_IF_ERROR(finder.Find(spec.column_name(),
                                        absl::StrCat("features.", spec.name()).c_str(),
                                        [&spec](uint32_t column) { spec.set_column(column); }));
    if (!spec.has_weights()) continue;
    const std::string use = absl::StrCat("features.", spec.name(), ".weights");
    CAPSTAN_RETURN_IF_ERROR(find(use.c_str(), *spec.mutable_weights()));
  }
  return absl::OkStatus();
}

absl::Status CheckColumn(const v1::DataSpec& data, uint32_t column, const std::string& path,
                         std::vector<const char*>& uses, const char* use) {
  if (column >= data.columns()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": has ", data.columns(), data.columns() == 1 ? " column" : " columns",
        ", but the schema's ", use, " names column ", column, " (they are counted from 0)"));
  }
  if (uses[column] != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("schema: column ", column, " is both ", uses[column], " and ", use));
  }
  uses[column] = use;
  return absl::OkStatus();
}

// Finds the columns that the schema names among the columns of the first file; `where` says in
// messages where their names are.
absl::Status DeriveColumns(const std::string& path, const std::string& where,
                           const std::vector<std::string>& names, v1::DataSpec& data) {
  const uint32_t columns = static_cast<uint32_t>(names.size());
  data.set_columns(columns);
  CAPSTAN_RETURN_IF_ERROR(FindNamedColumns(ColumnFinder(where, names), data));
  std::vector<const char*> uses(columns, nullptr);
  for (const v1::LabelSpec& label : LabelsOf(data)) {
    CAPSTAN_RETURN_IF_ERROR(CheckColumn(data, label.column(), path, uses, "label"));
  }
  if (data.has_weight()) {
    CAPSTAN_RETURN_IF_ERROR(CheckColumn(data, data.weight().column(), path, uses, "weight"));
  }
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
  // Several features may read one column, which then has no other use.
  const std::vector<const char*> others = uses;
  for (const v1::FeatureSpec& feature : data.features()) {
    if (feature.column() < columns) uses[feature.column()] = others[feature.column()];
    CAPSTAN_RETURN_IF_ERROR(CheckColumn(data, feature.column(), path, uses, "a feature"));
  }
  // The same holds for the columns of features' weights.
  const std::vector<const char*> keys = uses;
  for (const v1::FeatureSpec& feature : data.features()) {
    if (!feature.has_weights()) continue;
    const uint32_t column = feature.weights().column();
    if (column < columns) uses[column] = keys[column];
    CAPSTAN_RETURN_IF_ERROR(CheckColumn(data, column, path, uses, "weights of a feature"));
  }
  if (data.has_group()) {  // The group's column may also have another use.
    std::vector<const char*> none(columns, nullptr);
    CAPSTAN_RETURN_IF_ERROR(CheckColumn(data, data.group().column(), path, none, "group"));
  }
  data.set_fields(fields);
  data.set_dense_width(numbers);
  return absl::OkStatus();
}

absl::Status DeriveCells(const Source& source, v1::DataSpec& data) {
  CAPSTAN_ASSIGN_OR_RETURN(const FirstLine first, FindFirstLine(source, data));
  absl::Status derived =
      DeriveColumns(first.path, absl::StrCat(first.path, ":1"), first.cells, data);
  if (derived.ok()) return derived;
  return WhyNotUnderstood(source, first.path, data.format(), std::move(derived));
}

absl::Status DeriveParquet(const Source& source, v1::DataSpec& data) {
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<FileInfo> files, FirstFiles(source, data));
  CAPSTAN_ASSIGN_OR_RETURN(const parquet::ParquetFile file,
                           parquet::OpenParquetFile(source, files.front().path));
  std::vector<std::string> names;
  for (const parquet::Column& column : file.metadata.columns) names.push_back(column.name);
  return DeriveColumns(files.front().path, files.front().path, names, data);
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

// The classes are those of the training data; evaluation data may lack some.
absl::Status NameClasses(const Source& source, v1::DataSpec& data) {
  std::set<std::string> names;
  for (const std::string& root : data.train().empty() ? data.eval() : data.train()) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::vector<ClassFolder> classes, ListClasses(source, root));
    for (const ClassFolder& of : classes) names.emplace(ClassOf(of.path));
  }
  for (const std::string& name : names) data.add_label_classes(name);
  return absl::OkStatus();
}

absl::Status DeriveImages(const Source& source, v1::DataSpec& data) {
  const v1::ImageSpec& image = data.image();
  if (image.height() == 0 || image.width() == 0 || image.channels() == 0) {
    return absl::InvalidArgumentError("data.image: has no height, width or channels");
  }
  data.set_fields(0);
  data.set_dense_width(image.height() * image.width() * image.channels());
  data.clear_image_shape();
  data.add_image_shape(image.height());
  data.add_image_shape(image.width());
  if (data.format() != v1::DATA_FORMAT_FOLDER) return FirstFiles(source, data).status();
  return data.label_classes().empty() ? NameClasses(source, data) : absl::OkStatus();
}

absl::Status DeriveByFormat(const Source& source, v1::DataSpec& data) {
  if (data.numeric_scale() == 0) {
    const bool pixels = data.format() == v1::DATA_FORMAT_IDX || IsImageFormat(data.format());
    data.set_numeric_scale(pixels ? 1.0f / 255 : 1.0f);
  }
  switch (data.format()) {
    case v1::DATA_FORMAT_CSV:
    case v1::DATA_FORMAT_TSV:
      return DeriveCells(source, data);
    case v1::DATA_FORMAT_PARQUET:
      return DeriveParquet(source, data);
    case v1::DATA_FORMAT_LIBSVM:
    case v1::DATA_FORMAT_LIBFM:
      data.set_dense_width(0);
      return FirstFiles(source, data).status();
    case v1::DATA_FORMAT_IDX:
      return DeriveIdx(source, data);
    case v1::DATA_FORMAT_TAR:
    case v1::DATA_FORMAT_TFRECORD:
    case v1::DATA_FORMAT_FOLDER:
      return DeriveImages(source, data);
    case v1::DATA_FORMAT_SYNTHETIC:
      data.set_fields(static_cast<uint32_t>(ClickLogColumns(data.synthetic())));
      data.set_dense_width(0);
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("data: no format");
  }
}

}  // namespace

absl::Status DeriveDataSpec(const Source& source, v1::DataSpec& data) {
  CAPSTAN_RETURN_IF_ERROR(DeriveByFormat(source, data));
  CAPSTAN_RETURN_IF_ERROR(DeriveMeasures(source, data));
  CAPSTAN_RETURN_IF_ERROR(DeriveVocabularies(source, data));
  return data.has_negatives() ? DeriveNegatives(source, data) : absl::OkStatus();
}

}  // namespace capstan
