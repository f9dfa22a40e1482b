#include "capstan/model/layout.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/base/status.h"
#include "capstan/config/data_labels.h"
#include "capstan/model/initializers.h"
#include "capstan/model/optimizer_groups.h"
#include "capstan/model/presets.h"

namespace capstan {
namespace {

constexpr char kTable[] = "features";

void AddSegment(const std::string& name, uint32_t width, const v1::Initializer& initializer,
                v1::TableSpec& table) {
  v1::TableSegment& segment = *table.add_segments();
  segment.set_name(name);
  segment.set_offset(table.dim());
  segment.set_width(width);
  *segment.mutable_initializer() = initializer;
  segment.set_learning_rate_scale(1);
  table.set_dim(table.dim() + width);
}

bool AnyTower(const std::vector<std::unique_ptr<Tower>>& towers, bool TowerDescription::*reads) {
  return std::any_of(towers.begin(), towers.end(),
                     [&](const auto& tower) { return tower->description().*reads; });
}

void AddEmbedding(uint32_t dim, const v1::ModelSpec& model, v1::TableSpec& table) {
  AddSegment("embedding", dim, Normal(model.embedding_stddev()), table);
  table.mutable_segments()->rbegin()->set_learning_rate_scale(
      model.embedding_learning_rate_scale());
}

void SetLimits(const v1::TableLimits& limits, v1::TableSpec& table) {
  table.set_admission_count(limits.admission_count());
  table.set_expire_after_examples(limits.expire_after_examples());
  table.set_byte_budget(limits.byte_budget());
}

// Which segments the rows of all tables have.
struct Segments {
  bool linear, embedding;
};

Segments SegmentsOf(const std::vector<std::unique_ptr<Tower>>& towers, const v1::JobSpec& spec) {
  const ModelShape shape = ShapeOf(spec);
  const bool of_user = !spec.model().user().empty() && shape.has_keys &&
                       (shape.embedding_dim > 0 || !shape.pooled.empty());
  return {.linear = AnyTower(towers, &TowerDescription::reads_linear),
          .embedding = of_user || AnyTower(towers, &TowerDescription::reads_embedding) ||
                       (AnyTower(towers, &TowerDescription::reads_features) &&
                        shape.embedding_columns() > 0)};
}

void AddSegments(const Segments& segments, uint32_t dim, const v1::ModelSpec& model,
                 v1::TableSpec& table) {
  if (segments.linear) AddSegment("linear", model.outputs(), Zero(), table);
  if (segments.embedding) AddEmbedding(dim, model, table);
}

// Returns the settings in job.yaml for one table of data.features; null if there are none.
const v1::TableSettings* SettingsOf(const v1::JobSpec& spec, const std::string& table) {
  for (const v1::TableSettings& settings : spec.table_settings()) {
    if (settings.name() == table) return &settings;
  }
  return nullptr;
}

// Returns the length of the embeddings in one table of data.features.
uint32_t DimOf(const v1::JobSpec& spec, const std::string& table) {
  const v1::TableSettings* const own = SettingsOf(spec, table);
  return own != nullptr && own->dim() > 0 ? own->dim() : spec.model().embedding_dim();
}

// Adds the table `name` of data.features, with its settings in job.yaml.
void AddFeatureTable(const std::string& name, const Segments& segments, v1::JobSpec& spec) {
  const v1::TableSettings* const own = SettingsOf(spec, name);
  v1::TableSpec& table = *spec.add_tables();
  table.set_id(static_cast<uint32_t>(spec.tables_size() - 1));
  table.set_name(name);
  AddSegments(segments, DimOf(spec, name), spec.model(), table);
  *table.mutable_optimizer() = own != nullptr ? own->optimizer() : spec.sparse_optimizer();
  table.set_seed(Draw(spec.seed(), HashText(name), 0));
  SetLimits(own != nullptr ? own->limits() : spec.table_limits(), table);
}

// Adds the tables of data.features in the order in which the features first name them.
absl::Status AddFeatureTables(const Segments& segments, v1::JobSpec& spec) {
  if (!segments.linear && !segments.embedding) {
    return absl::InvalidArgumentError("data.features: no tower of the model reads keys");
  }
  for (const v1::TableSettings& settings : spec.table_settings()) {
    if (segments.embedding || settings.dim() == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("tables.", settings.name(),
                     ".dim: no tower of the model reads embeddings, of which it is the length"));
  }
  for (const v1::FeatureSpec& feature : spec.data().features()) {
    const bool there = std::any_of(
        spec.tables().begin(), spec.tables().end(),
        [&feature](const v1::TableSpec& table) { return table.name() == feature.table(); });
    if (!there) AddFeatureTable(feature.table(), segments, spec);
  }
  return absl::OkStatus();
}

absl::Status AddTables(const Segments& segments, v1::JobSpec& spec) {
  if (!spec.data().features().empty()) return AddFeatureTables(segments, spec);
  if (!segments.linear && !segments.embedding) return absl::OkStatus();
  v1::TableSpec& table = *spec.add_tables();
  table.set_name(kTable);
  AddSegments(segments, spec.model().embedding_dim(), spec.model(), table);
  *table.mutable_optimizer() = spec.sparse_optimizer();
  table.set_seed(Draw(spec.seed(), HashText(kTable), 0));
  SetLimits(spec.table_limits(), table);
  return absl::OkStatus();
}

void AddTensors(const std::vector<std::unique_ptr<Tower>>& towers, v1::JobSpec& spec) {
  for (size_t i = 0; i < towers.size(); ++i) {
    for (const TowerTensor& from : towers[i]->description().tensors) {
      v1::TensorSpec& tensor = *spec.add_tensors();
      tensor.set_id(static_cast<uint32_t>(spec.tensors_size() - 1));
      tensor.set_name(
          absl::StrCat(spec.model().towers(static_cast<int>(i)).name(), "/", from.name));
      tensor.mutable_shape()->Add(from.shape.begin(), from.shape.end());
      *tensor.mutable_initializer() = from.initializer;
      SetRole(from.role, OptimizerOfTensor(spec, tensor.name()), tensor);
    }
  }
}

// If there are several labels, each has an output of its own; presets set one output.
absl::Status ExpandModel(v1::JobSpec& spec) {
  v1::ModelSpec& model = *spec.mutable_model();
  const int labels = spec.data().labels_size();
  if (labels > 0) model.set_outputs(1);
  CAPSTAN_RETURN_IF_ERROR(ExpandPreset(model));
  if (labels > 0) model.set_outputs(static_cast<uint32_t>(labels));
  return absl::OkStatus();
}

// A softmax has an output for each class in data.schema.classes.
void CountClasses(v1::JobSpec& spec) {
  v1::ModelSpec& model = *spec.mutable_model();
  const int classes = spec.data().label_classes_size();
  const bool softmax = model.loss() == v1::LOSS_SOFTMAX || model.preset() == "softmax";
  if (model.outputs() == 0 && (classes > 2 || (classes == 2 && softmax))) {
    model.set_outputs(static_cast<uint32_t>(classes));
  }
}

absl::Status CheckLabels(const v1::JobSpec& spec) {
  const v1::DataSpec& data = spec.data();
  const v1::Loss loss = spec.model().loss();
  const uint32_t classes = static_cast<uint32_t>(data.label_classes_size());
  if (data.standardize_label() && loss != v1::LOSS_SQUARED) {
    return absl::InvalidArgumentError(
        "data.label_transform: standard is for model.loss: squared, and this model has another");
  }
  if (!data.positive_labels().empty() && !AnyLabelHas(spec, v1::LOSS_LOGISTIC)) {
    return absl::InvalidArgumentError(
        "data.schema.positive: makes labels 0 and 1, which are for model.loss: logistic");
  }
  if (classes > 0 && loss == v1::LOSS_SQUARED) {
    return absl::InvalidArgumentError("data.schema.classes: are not for model.loss: squared");
  }
  const uint32_t expected = loss == v1::LOSS_SOFTMAX ? spec.model().outputs() : 2;
  if (classes == 0 || classes == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("data.schema.classes: names ", classes,
                                                 " classes, and the model has ", expected));
}

absl::Status CheckData(const v1::JobSpec& spec) {
  const bool fm = std::any_of(spec.model().towers().begin(), spec.model().towers().end(),
                              [](const v1::TowerSpec& tower) { return tower.kind() == "fm"; });
  const uint32_t dim = spec.model().embedding_dim();
  if (fm && dim == 0) {
    return absl::InvalidArgumentError("model.embedding_dim: the fm tower needs at least 1");
  }
  const int fields = ShapeOf(spec).fields;
  if (spec.model().preset() == "mf" && fields != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.preset: mf needs two keys a record (user, item), the data has ", fields));
  }
  return absl::OkStatus();
}

// Sets how towers see data.features.
void SetPooled(const v1::JobSpec& spec, ModelShape& shape) {
  for (const v1::FeatureSpec& feature : spec.data().features()) {
    shape.pooled.push_back({feature.name(), static_cast<int>(DimOf(spec, feature.table()))});
  }
  shape.has_keys = true;
  shape.fields = static_cast<int>(shape.pooled.size());
  shape.embedding_dim = CheckOneDim(shape).ok() ? shape.pooled.front().dim : 0;
}

}  // namespace

ModelShape ShapeOf(const v1::JobSpec& spec) {
  const v1::DataSpec& data = spec.data();
  ModelShape shape;
  shape.has_keys = data.fields() > 0 || data.format() == v1::DATA_FORMAT_LIBSVM ||
                   data.format() == v1::DATA_FORMAT_LIBFM;
  shape.fields = static_cast<int>(data.fields());
  shape.embedding_dim = static_cast<int>(spec.model().embedding_dim());
  shape.dense_width = static_cast<int>(data.dense_width());
  if (!data.features().empty()) SetPooled(spec, shape);
  if (data.image_shape_size() == 2) {
    shape.image_height = static_cast<int>(data.image_shape(0));
    shape.image_width = static_cast<int>(data.image_shape(1));
  }
  shape.outputs = static_cast<int>(spec.model().outputs());
  shape.hidden.assign(spec.model().hidden().begin(), spec.model().hidden().end());
  return shape;
}

absl::StatusOr<std::vector<std::unique_ptr<Tower>>> MakeTowers(const v1::JobSpec& spec) {
  std::vector<std::unique_ptr<Tower>> towers;
  for (const v1::TowerSpec& tower_spec : spec.model().towers()) {
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Tower> tower, MakeTower(tower_spec, ShapeOf(spec)));
    towers.push_back(std::move(tower));
  }
  return towers;
}

absl::Status LayOutModel(v1::JobSpec& spec) {
  CountClasses(spec);
  CAPSTAN_RETURN_IF_ERROR(ExpandModel(spec));
  CAPSTAN_RETURN_IF_ERROR(CheckLabels(spec));
  CAPSTAN_RETURN_IF_ERROR(CheckData(spec));
  CAPSTAN_ASSIGN_OR_RETURN(const auto towers, MakeTowers(spec));
  spec.clear_tables();
  CAPSTAN_RETURN_IF_ERROR(AddTables(SegmentsOf(towers, spec), spec));
  if (!spec.model().user().empty()) return absl::OkStatus();
  spec.clear_tensors();
  AddTensors(towers, spec);
  std::vector<std::string> trained;
  for (const v1::TensorSpec& tensor : spec.tensors()) {
    if (tensor.role() == v1::TENSOR_ROLE_UNSPECIFIED) trained.push_back(tensor.name());
  }
  return CheckGroups(spec, trained);
}

std::vector<size_t> TablesOfFeatures(const v1::JobSpec& spec) {
  std::vector<size_t> tables;
  for (const v1::FeatureSpec& feature : spec.data().features()) {
    const auto found =
        std::find_if(spec.tables().begin(), spec.tables().end(),
                     [&feature](const auto& table) { return table.name() == feature.table(); });
    CAPSTAN_CHECK(found != spec.tables().end());  // LayOutModel has created the table.
    tables.push_back(static_cast<size_t>(found - spec.tables().begin()));
  }
  return tables;
}

void SetRole(v1::TensorRole role, const v1::OptimizerSpec& optimizer, v1::TensorSpec& tensor) {
  tensor.set_role(role);
  if (role == v1::TENSOR_ROLE_UNSPECIFIED) {
    *tensor.mutable_optimizer() = optimizer;
  } else {
    tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_RUNNING);
  }
}

std::vector<ParameterRange> RunningParameters(const v1::JobSpec& spec) {
  std::vector<ParameterRange> ranges;
  size_t begin = 0;
  for (const v1::TensorSpec& tensor : spec.tensors()) {
    const auto count = static_cast<size_t>(ElementCount(tensor));
    if (tensor.role() == v1::TENSOR_ROLE_RUNNING) ranges.push_back({begin, count});
    begin += count;
  }
  return ranges;
}

int64_t ElementCount(const v1::TensorSpec& tensor) {
  int64_t count = 1;
  for (uint32_t extent : tensor.shape()) count *= extent;
  return count;
}

int64_t DenseParameterCount(const v1::JobSpec& spec) {
  int64_t count = 0;
  for (const v1::TensorSpec& tensor : spec.tensors()) count += ElementCount(tensor);
  return count;
}

}  // namespace capstan
