#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "capstan/base/status.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/placement/placement.h"
#include "cli/model/exported_model.h"
#include "cli/model/safetensors.h"
#include "cli/model/weights_alone.h"
#include "google/protobuf/util/json_util.h"

namespace capstan::cli {
namespace {

// The arrays of a file of safetensors that is in memory.
class Arrays {
 public:
  Arrays(std::string_view file, SafetensorsIndex index) : file_(file), index_(std::move(index)) {}

  // Returns the bytes of an array, which must have this type and number of elements.
  absl::StatusOr<const char*> Find(const std::string& name, const std::string& dtype,
                                   uint64_t elements) const {
    const auto found = index_.tensors.find(name);
    if (found == index_.tensors.end()) {
      return absl::DataLossError(absl::StrCat(kParametersFile, ": holds no ", name));
    }
    const SafeTensor& tensor = found->second;
    if (tensor.dtype == dtype && tensor.elements() == elements) {
      return file_.data() + index_.data_begin + tensor.begin;
    }
    return absl::DataLossError(absl::StrCat(kParametersFile, ": ", name, " has ", tensor.elements(),
                                            " ", tensor.dtype, ", expected ", elements, " ",
                                            dtype));
  }

  uint64_t RowsOf(const std::string& table) const {
    const auto found = index_.tensors.find(absl::StrCat(table, ".keys"));
    return found == index_.tensors.end() ? 0 : found->second.elements();
  }

 private:
  std::string_view file_;
  const SafetensorsIndex index_;
};

absl::Status FillTable(const Arrays& arrays, int place, ImportedModel& model) {
  const v1::TableSpec& spec = model.job.tables(place);
  const uint64_t rows = arrays.RowsOf(spec.name());
  CAPSTAN_ASSIGN_OR_RETURN(const char* const keys,
                           arrays.Find(absl::StrCat(spec.name(), ".keys"), "U64", rows));
  CAPSTAN_ASSIGN_OR_RETURN(
      const char* const weights,
      arrays.Find(absl::StrCat(spec.name(), ".weights"), "F32", rows * spec.dim()));
  std::vector<float> state;
  for (uint64_t i = 0; i < rows; ++i) {
    RowState row;
    std::memcpy(&row.key, keys + i * sizeof(row.key), sizeof(row.key));
    const PartitionIndex home = PartitionOfKey(row.key, spec.seed(), model.job.partition_count());
    Table& table =
        *model.partitions[static_cast<size_t>(Raw(home))]->tables()[static_cast<size_t>(place)];
    state.resize(table.dim());
    std::memcpy(state.data(), weights + i * table.dim() * sizeof(float),
                table.dim() * sizeof(float));
    row.state = state;
    const absl::Status restored = table.RestoreRow(row);
    if (!restored.ok()) {
      return absl::DataLossError(absl::StrCat(kParametersFile, ": ", restored.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status FillBlocks(const Arrays& arrays, const DenseLayout& layout, ImportedModel& model) {
  std::vector<float> state;
  for (const Block& block : layout.blocks()) {
    const v1::TensorSpec& tensor = model.job.tensors(static_cast<int>(block.tensor));
    uint64_t elements = 1;
    for (uint32_t size : tensor.shape()) elements *= size;
    CAPSTAN_ASSIGN_OR_RETURN(const char* const weights,
                             arrays.Find(tensor.name(), "F32", elements));
    DenseBlocks& blocks = model.partitions[static_cast<size_t>(Raw(block.partition))]->blocks();
    state.resize(block.length);
    std::memcpy(state.data(), weights + block.offset * sizeof(float), block.length * sizeof(float));
    CAPSTAN_RETURN_IF_ERROR(blocks.Restore(block.id, state));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::JobSpec> ReadExportedJob(ObjectStore& folder) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string text, folder.Get(kJobFile));
  v1::JobSpec job;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const bool read = google::protobuf::util::JsonStringToMessage(text, &job, options).ok();
  if (!read || job.partition_count() == 0) {
    return absl::DataLossError(absl::StrCat(kJobFile, ": not a job of an exported model"));
  }
  return job;
}

bool IsExportedModel(ObjectStore& folder) {
  const absl::StatusOr<std::vector<ObjectInfo>> objects = folder.List(kParametersFile);
  return objects.ok() && !objects->empty();
}

absl::Status CheckReplaceable(ObjectStore& folder, const std::string& path) {
  if (ReadExportedJob(folder).ok()) return absl::OkStatus();
  for (const char* const name : {kJobFile, kParametersFile, kOnnxFile, kTorchFile}) {
    const absl::Status there = folder.Stat(name).status();
    if (absl::IsNotFound(there)) continue;
    CAPSTAN_RETURN_IF_ERROR(there);
    return absl::FailedPreconditionError(absl::StrCat(
        path, "/", name, ": is of no exported model, and would be overwritten; expected ",
        "a folder without such a file, or one with an exported model"));
  }
  return absl::OkStatus();
}

std::string VocabularyName(const v1::FeatureSpec& feature) {
  return absl::StrCat(feature.name(), ".vocabulary.txt");
}

absl::StatusOr<ImportedModel> ImportModel(ObjectStore& folder, const std::string& uri,
                                          v1::JobSpec job) {
  ImportedModel model = {.job = std::move(job), .partitions = {}};
  for (v1::FeatureSpec& feature : *model.job.mutable_data()->mutable_features()) {
    if (!feature.has_vocabulary()) continue;
    feature.mutable_vocabulary()->set_file(
        absl::StrCat(absl::StripSuffix(uri, "/"), "/", VocabularyName(feature)));
  }
  CAPSTAN_ASSIGN_OR_RETURN(const std::string file, folder.Get(kParametersFile));
  CAPSTAN_ASSIGN_OR_RETURN(SafetensorsIndex index, ReadSafetensorsIndex(file));
  CAPSTAN_ASSIGN_OR_RETURN(const DenseLayout layout,
                           DenseLayout::Create(model.job.tensors(), model.job.partition_count()));
  const v1::JobSpec scored = WithoutTraining(model.job);
  for (uint32_t i = 0; i < scored.partition_count(); ++i) {
    CAPSTAN_ASSIGN_OR_RETURN(
        std::unique_ptr<PartitionStore> store,
        PartitionStore::Create(scored, layout, static_cast<PartitionIndex>(i)));
    model.partitions.push_back(std::move(store));
  }
  const Arrays arrays(file, std::move(index));
  for (int i = 0; i < model.job.tables_size(); ++i) {
    CAPSTAN_RETURN_IF_ERROR(FillTable(arrays, i, model));
  }
  CAPSTAN_RETURN_IF_ERROR(FillBlocks(arrays, layout, model));
  return model;
}

}  // namespace capstan::cli
