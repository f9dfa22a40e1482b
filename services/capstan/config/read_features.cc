#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/config/columns.h"
#include "capstan/config/names.h"
#include "capstan/config/sections.h"
#include "capstan/config/spelling.h"

namespace capstan {
namespace {

// Reads how a cell contains many values, and the column of their weights.
void ReadMany(Section& in, bool names, v1::FeatureSpec& out) {
  out.set_many(in.Flag("many"));
  out.set_separator(in.Text("separator"));
  if (out.separator().size() != 1) in.Refuse("separator", "must be one ASCII character");
  out.set_most(static_cast<uint32_t>(in.Whole("most")));
  out.set_pooling(in.OneOf<v1::Pooling>("pooling"));
  const std::vector<v1::ColumnSpec> weights = ReadColumns(in, "weights", {.names = names});
  if (weights.size() == 1) *out.mutable_weights() = weights.front();
  if (weights.size() > 1) in.Refuse("weights", "is one column");
  for (const char* key : {"separator", "most", "pooling", "weights"}) {
    if (!out.many() && in.Has(key)) in.Refuse(key, "is only for many: true");
  }
}

// Reads the vocabulary of a feature.
void ReadVocabulary(Section& in, v1::FeatureSpec& out) {
  const bool has = out.kind() == v1::KEY_KIND_VOCABULARY;
  const std::string file = in.Text("file");
  const uint64_t unknown = in.Whole("unknown");
  for (const char* key : {"file", "unknown"}) {
    if (!has && in.Has(key)) in.Refuse(key, "is only for kind: vocabulary");
  }
  if (!has) return;
  if (file.empty()) in.Refuse("file", "is missing; expected a file with a text a line");
  if (in.Has("buckets")) in.Refuse("buckets", "is for kinds whose keys may be any numbers");
  out.mutable_vocabulary()->set_file(file);
  out.mutable_vocabulary()->set_unknown(static_cast<uint32_t>(unknown));
}

void ReadFeature(Section in, bool names, v1::FeatureSpec& out) {
  const std::vector<v1::ColumnSpec> columns = ReadColumns(in, "column", {.names = names});
  if (columns.size() != 1) {
    in.Refuse("column", in.Has("column") ? "is one column" : "is missing; expected a column");
  } else {
    out.set_column(columns.front().column());
    out.set_column_name(columns.front().name());
  }
  out.set_kind(in.OneOf<v1::KeyKind>("kind"));
  out.set_table(in.Text("table", out.name()));
  if (in.Has("table")) CheckName(in, "table", out.table());
  out.set_buckets(in.Whole("buckets"));
  ReadVocabulary(in, out);
  ReadMany(in, names, out);
}

// A limit of 0 means that the table does not set it, as none can be set to 0.
void InheritLimits(const v1::TableLimits& of_all, v1::TableLimits& out) {
  if (out.admission_count() == 0) out.set_admission_count(of_all.admission_count());
  if (out.expire_after_examples() == 0) {
    out.set_expire_after_examples(of_all.expire_after_examples());
  }
  if (out.byte_budget() == 0) out.set_byte_budget(of_all.byte_budget());
}

void ReadOneTable(Section in, const v1::JobSpec& spec, v1::TableSettings& out) {
  out.set_dim(static_cast<uint32_t>(in.Whole("dim")));
  Section optimizer = in.Map("optimizer");
  ReadOptimizer(optimizer, spec.sparse_optimizer().kind(), *out.mutable_optimizer());
  optimizer.DefaultIs("kind", "`optimizer.sparse.kind`");
  if (!in.Has("optimizer")) *out.mutable_optimizer() = spec.sparse_optimizer();
  ReadTable(in, *out.mutable_limits());
  InheritLimits(spec.table_limits(), *out.mutable_limits());
}

}  // namespace

void ReadFeatures(Section in, bool names, v1::DataSpec& data) {
  for (const std::string& name : in.Names()) {
    CheckName(in, name, name);
    v1::FeatureSpec& feature = *data.add_features();
    feature.set_name(name);
    ReadFeature(in.Map(name), names, feature);
  }
}

void ReadTables(Section in, v1::JobSpec& spec) {
  std::set<std::string> used;
  for (const v1::FeatureSpec& feature : spec.data().features()) used.insert(feature.table());
  for (const std::string& name : in.Names()) {
    if (!used.contains(name) && name != "<name>") {
      in.Refuse(name, "no feature of data.features has its rows in this table");
    }
    v1::TableSettings& settings = *spec.add_table_settings();
    settings.set_name(name);
    ReadOneTable(in.Map(name), spec, settings);
  }
}

}  // namespace capstan
