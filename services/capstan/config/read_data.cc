#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/config/columns.h"
#include "capstan/config/data_labels.h"
#include "capstan/config/declared_keys.h"
#include "capstan/config/names.h"
#include "capstan/config/sections.h"
#include "capstan/config/spelling.h"

namespace capstan {
namespace {

constexpr size_t kMostEvalSets = 32;  // Limited, as each set has metrics of its own.
constexpr size_t kMostLabels = 32;    // Limited for the same reason.

// A key that has a meaning only in some formats.
struct Scope {
  absl::string_view key;
  absl::string_view formats;
  std::set<v1::DataFormat> members;
};

const std::vector<Scope>& Scopes() {
  static const auto& scopes = *new std::vector<Scope>{
      {"header", "csv and tsv", {v1::DATA_FORMAT_CSV, v1::DATA_FORMAT_TSV}},
      {"schema",
       "csv, tsv and parquet",
       {v1::DATA_FORMAT_CSV, v1::DATA_FORMAT_TSV, v1::DATA_FORMAT_PARQUET}},
      {"features",
       "csv, tsv and parquet",
       {v1::DATA_FORMAT_CSV, v1::DATA_FORMAT_TSV, v1::DATA_FORMAT_PARQUET}},
      {"negatives",
       "csv, tsv and parquet",
       {v1::DATA_FORMAT_CSV, v1::DATA_FORMAT_TSV, v1::DATA_FORMAT_PARQUET}},
      {"label_transform",
       "csv, tsv, parquet, libsvm and libfm",
       {v1::DATA_FORMAT_CSV, v1::DATA_FORMAT_TSV, v1::DATA_FORMAT_PARQUET, v1::DATA_FORMAT_LIBSVM,
        v1::DATA_FORMAT_LIBFM}},
      {"fields", "libsvm and libfm", {v1::DATA_FORMAT_LIBSVM, v1::DATA_FORMAT_LIBFM}},
      {"image_shape", "idx", {v1::DATA_FORMAT_IDX}},
      {"image",
       "tar, tfrecord and folder",
       {v1::DATA_FORMAT_TAR, v1::DATA_FORMAT_TFRECORD, v1::DATA_FORMAT_FOLDER}},
      {"synthetic", "synthetic", {v1::DATA_FORMAT_SYNTHETIC}},
  };
  return scopes;
}

// "csv, tsv or parquet", of all formats.
std::string FormatNames() {
  const auto* const formats = std::get_if<ChoiceKey>(&FindDeclared("data.format")->values);
  std::string names;
  for (const KeyChoice& format : formats->among) {
    const bool last = &format == &formats->among.back();
    absl::StrAppend(&names, names.empty() ? "" : last ? " or " : ", ", format.name);
  }
  return names;
}

bool HasColumns(v1::DataFormat format) {
  return format == v1::DATA_FORMAT_CSV || format == v1::DATA_FORMAT_TSV ||
         format == v1::DATA_FORMAT_PARQUET;
}

// Returns whether the files name their columns.
bool HasNames(const v1::DataSpec& data) {
  return data.header() || data.format() == v1::DATA_FORMAT_PARQUET;
}

std::string ColumnText(uint32_t column, const std::string& name) {
  return name.empty() ? absl::StrCat("column ", column) : absl::StrCat("column ", Shown(name));
}

// A column that is given once by name and once by number is noticed only when the files are read.
void CheckColumns(Section& in, const v1::DataSpec& data) {
  std::set<std::string> used;
  for (const v1::LabelSpec& label : LabelsOf(data)) {
    const std::string text = ColumnText(label.column(), label.column_name());
    if (!used.insert(text).second) in.Refuse("labels", absl::StrCat(text, " is used twice"));
  }
  const auto check = [&](absl::string_view key, const auto& columns) {
    for (const v1::ColumnSpec& spec : columns) {
      const std::string text = ColumnText(spec.column(), spec.name());
      if (used.insert(text).second) continue;
      in.Refuse(key, absl::StrCat(text, " is used twice"));
      return;
    }
  };
  if (data.has_weight()) check("weight", std::array{data.weight()});
  check("numeric", data.numeric());
  check("categorical", data.categorical());
  if (data.numeric().empty() && data.categorical().empty() && data.features().empty() &&
      HasColumns(data.format())) {
    in.Refuse("", "needs numeric or categorical columns, such as categorical: \"1-39\"");
  }
  if (!data.features().empty() && !data.categorical().empty()) {
    in.Refuse("categorical", "cannot stand beside data.features, which say what has keys");
  }
}

std::optional<v1::ColumnSpec> ReadOneColumn(Section& in, absl::string_view key,
                                            const v1::DataSpec& data) {
  std::vector<v1::ColumnSpec> columns = ReadColumns(in, key, {.names = HasNames(data)});
  if (columns.size() > 1) in.Refuse(key, "is one column");
  if (columns.empty()) return std::nullopt;
  return std::move(columns.front());
}

void ReadLabelColumn(Section& in, v1::DataSpec& data) {
  const std::optional<v1::ColumnSpec> column = ReadOneColumn(in, "label", data);
  if (!column) return;
  data.set_label_column(column->column());
  data.set_label_name(column->name());
}

void ReadOneLabel(Section in, const v1::DataSpec& data, v1::LabelSpec& out) {
  if (const std::optional<v1::ColumnSpec> column = ReadOneColumn(in, "column", data)) {
    out.set_column(column->column());
    out.set_column_name(column->name());
  } else if (!in.Has("column")) {
    in.Refuse("column", "is missing; expected a column");
  }
  out.set_weight(static_cast<float>(in.Number("weight")));
  out.set_may_be_missing(in.Flag("optional"));
  out.set_loss(in.OneOf<v1::Loss>("loss"));
}

void ReadSeveralLabels(Section in, v1::DataSpec& data) {
  const std::vector<std::string> names = in.Names();
  for (const std::string& name : names) {
    CheckName(in, name, name);
    v1::LabelSpec& label = *data.add_labels();
    label.set_name(name);
    ReadOneLabel(in.Map(name), data, label);
  }
  if (names.size() == 1 && names.front() != "<name>") {
    in.Refuse("", "names one label; expected two or more, or schema.label: a column");
  }
  if (names.size() > kMostLabels) {
    in.Refuse("", absl::StrCat("names ", names.size(), " labels; a job has at most ", kMostLabels));
  }
}

// Reads the meaning of labels that are texts.
void ReadTextLabels(Section& in, v1::DataSpec& data) {
  for (std::string& text : in.Texts("positive")) *data.add_positive_labels() = std::move(text);
  for (std::string& text : in.Texts("classes")) *data.add_label_classes() = std::move(text);
  const std::set<std::string> classes(data.label_classes().begin(), data.label_classes().end());
  if (in.Has("positive") && in.Has("classes")) {
    in.Refuse("classes", "cannot stand beside positive, which makes two classes already");
  }
  if (in.Has("classes") && classes.size() < 2) in.Refuse("classes", "must name two or more");
  if (static_cast<int>(classes.size()) < data.label_classes_size()) {
    in.Refuse("classes", "names one twice");
  }
}

void ReadSchema(Section in, v1::DataSpec& data) {
  ReadLabelColumn(in, data);
  ReadSeveralLabels(in.Map("labels"), data);
  if (in.Has("label") && in.Has("labels")) in.Refuse("labels", "cannot stand beside label");
  ReadTextLabels(in, data);
  if (auto column = ReadOneColumn(in, "weight", data)) *data.mutable_weight() = *std::move(column);
  if (auto column = ReadOneColumn(in, "group", data)) *data.mutable_group() = *std::move(column);
  for (v1::ColumnSpec& spec : ReadColumns(
           in, "numeric",
           {.names = HasNames(data), .transforms = true, .features = !data.features().empty()})) {
    *data.add_numeric() = std::move(spec);
  }
  for (v1::ColumnSpec& spec : ReadColumns(in, "categorical", {.names = HasNames(data)})) {
    *data.add_categorical() = std::move(spec);
  }
  CheckColumns(in, data);
}

void ReadLabels(Section& in, v1::DataSpec& out) {
  out.set_label_threshold(static_cast<float>(in.Number("label_threshold")));
  out.set_binarize_label(in.Has("label_threshold"));
  out.set_standardize_label(in.OneOf<bool>("label_transform"));
  const Measures measures = ReadMeasures(in, "label_", out.standardize_label());
  out.set_label_mean(measures.mean);
  out.set_label_deviation(measures.deviation);
  const bool texts = !out.positive_labels().empty() || !out.label_classes().empty();
  if (texts && out.binarize_label()) {
    in.Refuse("label_threshold",
              "is for labels that are numbers, and schema says that they are texts");
  }
  if (out.standardize_label() && (texts || out.binarize_label())) {
    in.Refuse("label_transform", "standard is for labels that are numbers of any size");
  }
}

void ReadSynthetic(Section in, v1::SyntheticSpec& out) {
  out.set_train_rows(in.Whole("train_rows"));
  out.set_eval_rows(in.Whole("eval_rows"));
  out.set_seed(in.Whole("seed"));
  for (const uint64_t values : in.Wholes("vocabulary")) out.add_vocabulary(values);
}

void ReadEvalSets(Section in, v1::DataSpec& out) {
  const std::vector<std::string> names = in.Names();
  if (names.empty()) in.Refuse("", "names no set; expected files, or sets of files by name");
  if (names.size() > kMostEvalSets) {
    in.Refuse("", absl::StrCat("names ", names.size(), " sets; a job has at most ", kMostEvalSets));
  }
  for (const std::string& name : names) {
    CheckName(in, name, name);
    v1::EvalSet& set = *out.add_eval_sets();
    set.set_name(name);
    std::vector<std::string> files = in.Texts(name);
    set.set_files(static_cast<uint32_t>(files.size()));
    for (std::string& path : files) *out.add_eval() = std::move(path);
    if (set.files() == 0 && in.Has(name)) in.Refuse(name, "names no file");
  }
}

void ReadFiles(Section& in, v1::DataSpec& out) {
  for (std::string& path : in.Texts("train")) *out.add_train() = std::move(path);
  if (in.IsMap("eval")) {
    ReadEvalSets(in.Map("eval"), out);
  } else {
    for (std::string& path : in.Texts("eval")) *out.add_eval() = std::move(path);
  }
  const bool synthetic = out.format() == v1::DATA_FORMAT_SYNTHETIC;
  for (const absl::string_view key : {"train", "eval"}) {
    if (synthetic && in.Has(key)) in.Refuse(key, "means nothing with format: synthetic");
  }
  if (!synthetic && out.train().empty()) {
    in.Refuse("train", "is missing; expected files, such as [train/*.csv.gz]");
  }
}

// Reads how images in tar, tfrecord and folder are brought to one size.
void ReadImage(Section in, v1::DataSpec& data) {
  const bool folder = data.format() == v1::DATA_FORMAT_FOLDER;
  const bool images =
      folder || data.format() == v1::DATA_FORMAT_TAR || data.format() == v1::DATA_FORMAT_TFRECORD;
  v1::ImageSpec out;
  out.set_height(static_cast<uint32_t>(in.Whole("height")));
  out.set_width(static_cast<uint32_t>(in.Whole("width")));
  for (const absl::string_view key : {"height", "width"}) {
    if (images && !in.Has(key))
      in.Refuse(key, "is missing; images are brought to one size, such as 224");
  }
  out.set_channels(static_cast<uint32_t>(in.Whole("channels")));
  if (out.channels() == 2) in.Refuse("channels", "must be 1 (grey) or 3 (red, green, blue)");
  out.set_random_crop(in.Flag("random_crop"));
  out.set_random_flip(in.Flag("random_flip"));
  out.set_image_member(in.Text("member"));
  out.set_label_member(in.Text("label"));
  for (const absl::string_view key : {"member", "label"}) {
    if (folder && in.Has(key)) in.Refuse(key, "is only for format: tar and tfrecord");
  }
  if (images) *data.mutable_image() = out;
}

void ReadImages(Section& in, v1::DataSpec& out) {
  const std::vector<uint64_t> shape = in.Wholes("image_shape");
  if (in.Has("image_shape") && shape.size() != 2) {
    in.Refuse("image_shape", "must be [height, width]");
  }
  out.mutable_image_shape()->Add(shape.begin(), shape.end());
}

}  // namespace

void ReadData(Section& in, v1::DataSpec& out) {
  out.set_format(in.OneOf<v1::DataFormat>("format"));
  if (!in.Has("format")) {
    in.Refuse("format", absl::StrCat("is missing; expected ", FormatNames()));
  }
  for (const Scope& scope : Scopes()) {
    const bool known = out.format() != v1::DATA_FORMAT_UNSPECIFIED;
    if (!known || !in.Has(scope.key) || scope.members.contains(out.format())) continue;
    in.Refuse(scope.key, absl::StrCat("is only for format: ", scope.formats));
  }
  ReadFiles(in, out);
  out.set_header(in.Flag("header"));
  ReadFeatures(in.Map("features"), HasNames(out), out);
  ReadNegatives(in.Map("negatives"), out);
  ReadSchema(in.Map("schema"), out);
  ReadImages(in, out);
  ReadImage(in.Map("image"), out);
  ReadSynthetic(in.Map("synthetic"), *out.mutable_synthetic());
  out.set_fields(in.Whole("fields"));
  out.set_numeric_scale(static_cast<float>(in.Number("numeric_scale")));
  ReadLabels(in, out);
  out.set_max_bad_records(in.Whole("max_bad_records"));
  out.set_task_bytes(in.Bytes("task_bytes"));
  out.set_task_records(in.Whole("task_records"));
  out.set_shuffle(in.Flag("shuffle"));
  out.set_pieces(in.Whole("pieces"));
  out.set_numbered_in_order(true);
}

}  // namespace capstan
