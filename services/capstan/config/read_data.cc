#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/config/columns.h"
#include "capstan/config/sections.h"

namespace capstan {
namespace {

constexpr Choice<v1::DataFormat> kFormats[] = {
    {"csv", v1::DATA_FORMAT_CSV},       {"tsv", v1::DATA_FORMAT_TSV},
    {"libsvm", v1::DATA_FORMAT_LIBSVM}, {"libfm", v1::DATA_FORMAT_LIBFM},
    {"idx", v1::DATA_FORMAT_IDX},       {"synthetic", v1::DATA_FORMAT_SYNTHETIC},
};

// A key that means something in some formats only.
struct Scope {
  absl::string_view key;
  absl::string_view formats;
  std::set<v1::DataFormat> members;
};

const std::vector<Scope>& Scopes() {
  static const auto& scopes = *new std::vector<Scope>{
      {"header", "csv and tsv", {v1::DATA_FORMAT_CSV, v1::DATA_FORMAT_TSV}},
      {"schema", "csv and tsv", {v1::DATA_FORMAT_CSV, v1::DATA_FORMAT_TSV}},
      {"fields", "libsvm and libfm", {v1::DATA_FORMAT_LIBSVM, v1::DATA_FORMAT_LIBFM}},
      {"image_shape", "idx", {v1::DATA_FORMAT_IDX}},
      {"synthetic", "synthetic", {v1::DATA_FORMAT_SYNTHETIC}},
  };
  return scopes;
}

bool IsText(v1::DataFormat format) {
  return format == v1::DATA_FORMAT_CSV || format == v1::DATA_FORMAT_TSV;
}

void CheckColumns(Section& in, const v1::DataSpec& data) {
  std::set<uint32_t> used = {data.label_column()};
  const auto check = [&](absl::string_view key, const auto& columns) {
    for (const v1::ColumnSpec& spec : columns) {
      if (used.insert(spec.column()).second) continue;
      in.Refuse(key, absl::StrCat("column ", spec.column(), " is used twice"));
      return;
    }
  };
  check("numeric", data.numeric());
  check("categorical", data.categorical());
  if (data.numeric().empty() && data.categorical().empty() && IsText(data.format())) {
    in.Refuse("", "needs numeric or categorical columns, such as categorical: \"1-39\"");
  }
}

void ReadSchema(Section in, v1::DataSpec& data) {
  data.set_label_column(in.Whole("label", {.max = kMaxColumns - 1}, 0));
  for (v1::ColumnSpec& spec : ReadColumns(in, "numeric", /*transforms=*/true)) {
    *data.add_numeric() = std::move(spec);
  }
  for (v1::ColumnSpec& spec : ReadColumns(in, "categorical", /*transforms=*/false)) {
    *data.add_categorical() = std::move(spec);
  }
  CheckColumns(in, data);
}

void ReadSynthetic(Section in, v1::SyntheticSpec& out) {
  out.set_train_rows(in.Whole("train_rows", {.min = 1, .max = uint64_t{1} << 39}, 1000000));
  out.set_eval_rows(in.Whole("eval_rows", {.max = uint64_t{1} << 39}, 100000));
  out.set_seed(in.Whole("seed", {}, 0));
  for (const uint64_t values : in.Wholes("vocabulary", {.min = 1, .max = 100000000})) {
    out.add_vocabulary(values);
  }
}

void ReadFiles(Section& in, v1::DataSpec& out) {
  for (std::string& path : in.Texts("train")) *out.add_train() = std::move(path);
  for (std::string& path : in.Texts("eval")) *out.add_eval() = std::move(path);
  const bool synthetic = out.format() == v1::DATA_FORMAT_SYNTHETIC;
  for (const absl::string_view key : {"train", "eval"}) {
    if (synthetic && in.Has(key)) in.Refuse(key, "means nothing with format: synthetic");
  }
  if (!synthetic && out.train().empty()) {
    in.Refuse("train", "is missing; expected files, such as [train/*.csv.gz]");
  }
}

void ReadImages(Section& in, v1::DataSpec& out) {
  const std::vector<uint64_t> shape = in.Wholes("image_shape", {.min = 1, .max = 4096});
  if (in.Has("image_shape") && shape.size() != 2) {
    in.Refuse("image_shape", "must be [height, width]");
  }
  out.mutable_image_shape()->Add(shape.begin(), shape.end());
}

}  // namespace

void ReadData(Section& in, v1::DataSpec& out) {
  out.set_format(in.OneOf<v1::DataFormat>("format", kFormats, v1::DATA_FORMAT_UNSPECIFIED));
  if (!in.Has("format"))
    in.Refuse("format", "is missing; expected csv, tsv, libsvm, libfm, idx or synthetic");
  for (const Scope& scope : Scopes()) {
    const bool known = out.format() != v1::DATA_FORMAT_UNSPECIFIED;
    if (!known || !in.Has(scope.key) || scope.members.contains(out.format())) continue;
    in.Refuse(scope.key, absl::StrCat("is only for format: ", scope.formats));
  }
  ReadFiles(in, out);
  ReadSchema(in.Map("schema"), out);
  ReadImages(in, out);
  ReadSynthetic(in.Map("synthetic"), *out.mutable_synthetic());
  out.set_header(in.Flag("header", false));
  out.set_fields(in.Whole("fields", {.max = 100000}, 0));
  out.set_numeric_scale(static_cast<float>(in.Number("numeric_scale", {.open = true}, 0)));
  out.set_label_threshold(static_cast<float>(in.Number("label_threshold", {.min = -1e30}, 0)));
  out.set_binarize_label(in.Has("label_threshold"));
  out.set_max_bad_records(in.Whole("max_bad_records", {}, 0));
  out.set_task_bytes(in.Bytes("task_bytes", {.min = 1024}, 0));
  out.set_task_records(in.Whole("task_records", {.min = 1}, 0));
  out.set_shuffle(in.Flag("shuffle", true));
}

}  // namespace capstan
