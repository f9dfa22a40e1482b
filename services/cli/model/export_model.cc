#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/formats/vocabulary.h"
#include "capstan/objectstore/object_store.h"
#include "cli/model/exported_model.h"
#include "cli/model/safetensors.h"
#include "cli/model/score_program.h"
#include "cli/model/staged_files.h"
#include "cli/onnx/onnx_model.h"
#include "google/protobuf/util/json_util.h"

namespace capstan::cli {
namespace {

constexpr size_t kMostRowsTogether = 4096;

class Exporter {
 public:
  Exporter(const CheckpointReader& reader, const ExportOptions& options, DenseLayout layout)
      : reader_(reader),
        options_(options),
        job_(reader.manifest().job()),
        layout_(std::move(layout)),
        slots_of_tensors_(static_cast<size_t>(job_.tensors_size())),
        sorted_keys_(static_cast<size_t>(job_.tables_size())),
        slot_counts_(static_cast<size_t>(job_.tables_size())) {}

  // Goes twice over the partitions, as the place of an array follows from the sizes of the arrays
  // before it.
  absl::StatusOr<Exported> Run(StagedFiles::File& file) {
    CAPSTAN_RETURN_IF_ERROR(ForEachPartition([this](const PartitionStore& part) { Count(part); }));
    for (std::vector<uint64_t>& keys : sorted_keys_) std::sort(keys.begin(), keys.end());
    Plan();
    const std::string header =
        SafetensorsHeader(tensors_, {{"format", "capstan-model-1"},
                                     {"job", job_.job()},
                                     {"step", absl::StrCat(reader_.manifest().step())}});
    data_begin_ = header.size();
    file.Write(0, header.data(), header.size());
    for (size_t t = 0; t < sorted_keys_.size(); ++t) {
      file.Write(PlaceOf(keys_[t]), sorted_keys_[t].data(),
                 sorted_keys_[t].size() * sizeof(uint64_t));
    }
    CAPSTAN_RETURN_IF_ERROR(
        ForEachPartition([&](const PartitionStore& part) { Write(part, file); }));
    Exported exported;
    for (const std::vector<uint64_t>& keys : sorted_keys_) exported.rows += keys.size();
    exported.bytes = data_begin_ + (tensors_.empty() ? 0 : tensors_.back().end);
    return exported;
  }

  // Returns where the tensors' weights lie in the file. REQUIRES: Run was called.
  std::map<std::string, StoredArray> StoredTensors() const {
    std::map<std::string, StoredArray> arrays;
    for (const size_t place : weights_of_tensors_) {
      const SafeTensor& tensor = tensors_[place];
      arrays[tensor.name] = {.shape = {tensor.shape.begin(), tensor.shape.end()},
                             .offset = data_begin_ + tensor.begin,
                             .bytes = tensor.end - tensor.begin};
    }
    return arrays;
  }

 private:
  template <typename Visit>
  absl::Status ForEachPartition(const Visit& visit) const {
    for (uint32_t i = 0; i < job_.partition_count(); ++i) {
      CAPSTAN_ASSIGN_OR_RETURN(const DecodedPartition decoded,
                               reader_.Read(static_cast<PartitionIndex>(i), job_, layout_));
      visit(*decoded.store);
    }
    return absl::OkStatus();
  }

  void Count(const PartitionStore& part) {
    for (size_t t = 0; t < part.tables().size(); ++t) {
      part.tables()[t]->ForEachRow(
          [&](const RowState& row) { sorted_keys_[t].push_back(row.key); });
      slot_counts_[t] = part.tables()[t]->slot_count();
    }
    for (const Block& block : part.blocks().blocks()) {
      slots_of_tensors_[block.tensor] += part.blocks().State(block.id).size() - block.length;
    }
  }

  size_t Add(const std::string& name, const char* dtype, std::vector<uint64_t> shape) {
    tensors_.push_back({.name = name, .dtype = dtype, .shape = std::move(shape)});
    return tensors_.size() - 1;
  }

  void Plan() {
    for (int i = 0; i < job_.tensors_size(); ++i) {
      const v1::TensorSpec& tensor = job_.tensors(i);
      weights_of_tensors_.push_back(
          Add(tensor.name(), "F32", {tensor.shape().begin(), tensor.shape().end()}));
      if (options_.slots) {
        tensor_slots_.push_back(Add(absl::StrCat(tensor.name(), ".slots"), "F32",
                                    {slots_of_tensors_[static_cast<size_t>(i)]}));
      }
    }
    for (int i = 0; i < job_.tables_size(); ++i) {
      const v1::TableSpec& table = job_.tables(i);
      const uint64_t rows = sorted_keys_[static_cast<size_t>(i)].size();
      keys_.push_back(Add(absl::StrCat(table.name(), ".keys"), "U64", {rows}));
      weights_.push_back(Add(absl::StrCat(table.name(), ".weights"), "F32", {rows, table.dim()}));
      if (options_.slots) {
        table_slots_.push_back(Add(absl::StrCat(table.name(), ".slots"), "F32",
                                   {rows, slot_counts_[static_cast<size_t>(i)]}));
      }
    }
    PlaceTensors(tensors_);
    written_slots_.assign(slots_of_tensors_.size(), 0);
  }

  uint64_t PlaceOf(size_t tensor) const { return data_begin_ + tensors_[tensor].begin; }

  void Write(const PartitionStore& part, StagedFiles::File& file) {
    for (size_t t = 0; t < part.tables().size(); ++t) WriteTable(*part.tables()[t], t, file);
    for (const Block& block : part.blocks().blocks()) {
      WriteBlock(block, part.blocks().State(block.id), file);
    }
  }

  // Rows that are neighbours in the order of all keys.
  struct RowRun {
    uint64_t first = 0;
    uint64_t rows = 0;
    std::vector<float> weights;
    std::vector<float> slots;
  };

  // The rows of a partition ascend by key, so their places ascend, too.
  void WriteTable(const Table& table, size_t t, StagedFiles::File& file) {
    RowRun run;
    auto at = sorted_keys_[t].begin();
    table.ForEachRow([&](const RowState& row) {
      at = std::lower_bound(at, sorted_keys_[t].end(), row.key);
      const auto place = static_cast<uint64_t>(at - sorted_keys_[t].begin());
      if (place != run.first + run.rows || run.rows == kMostRowsTogether) {
        WriteRun(run, t, file);
        run = {.first = place};
      }
      ++run.rows;
      const auto weights_end = row.state.begin() + static_cast<ptrdiff_t>(table.dim());
      run.weights.insert(run.weights.end(), row.state.begin(), weights_end);
      run.slots.insert(run.slots.end(), weights_end, row.state.end());
    });
    WriteRun(run, t, file);
  }

  void WriteRun(const RowRun& run, size_t t, StagedFiles::File& file) {
    if (run.rows == 0) return;
    file.Write(PlaceOf(weights_[t]) + run.first * (run.weights.size() / run.rows) * sizeof(float),
               run.weights.data(), run.weights.size() * sizeof(float));
    if (!options_.slots) return;
    file.Write(PlaceOf(table_slots_[t]) + run.first * slot_counts_[t] * sizeof(float),
               run.slots.data(), run.slots.size() * sizeof(float));
  }

  void WriteBlock(const Block& block, absl::Span<const float> state, StagedFiles::File& file) {
    file.Write(PlaceOf(weights_of_tensors_[block.tensor]) + block.offset * sizeof(float),
               state.data(), block.length * sizeof(float));
    if (!options_.slots) return;
    const absl::Span<const float> slots = state.subspan(block.length);
    uint64_t& written = written_slots_[block.tensor];
    file.Write(PlaceOf(tensor_slots_[block.tensor]) + written * sizeof(float), slots.data(),
               slots.size() * sizeof(float));
    written += slots.size();
  }

  const CheckpointReader& reader_;
  const ExportOptions& options_;
  const v1::JobSpec& job_;
  const DenseLayout layout_;
  uint64_t data_begin_ = 0;
  std::vector<SafeTensor> tensors_;
  // For each tensor of the job: its floats of slots, the places of its weights and slots in
  // tensors_, and the floats of slots written.
  std::vector<uint64_t> slots_of_tensors_;
  std::vector<size_t> weights_of_tensors_;
  std::vector<size_t> tensor_slots_;
  std::vector<uint64_t> written_slots_;
  // For each table of the job.
  std::vector<std::vector<uint64_t>> sorted_keys_;
  std::vector<uint64_t> slot_counts_;
  std::vector<size_t> keys_;
  std::vector<size_t> weights_;
  std::vector<size_t> table_slots_;
};

// score.py computes towers.
absl::Status CheckForPython(const v1::JobSpec& job) {
  const std::string& program = job.model().user();
  if (program.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--python: score.py computes models of towers, and this one is the program ", program,
      "; export it without, and load it by capstan_ps.load(FOLDER), whose torch(build) is the "
      "trained module, state_dict() its parameters, and to_onnx(...) its graph"));
}

absl::Status CopyVocabularies(const v1::DataSpec& data, StagedFiles& files) {
  const std::unique_ptr<const Source> source = NewDataFiles();
  for (const v1::FeatureSpec& feature : data.features()) {
    if (!feature.has_vocabulary()) continue;
    CAPSTAN_ASSIGN_OR_RETURN(const std::string text, ReadVocabularyText(*source, feature));
    files.AddText(VocabularyName(feature), text);
  }
  return absl::OkStatus();
}

// Returns the path of a folder of this machine, which is created if need be.
absl::StatusOr<std::string> MakeFolder(const std::string& named) {
  std::string folder(absl::StripPrefix(named, "file://"));
  if (absl::StrContains(folder, "://")) {
    return absl::InvalidArgumentError(absl::StrCat(
        named, ": a model is exported to a folder of this machine, and copied from there"));
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return folder;
  return absl::InvalidArgumentError(absl::StrCat(folder, ": ", error.message()));
}

}  // namespace

absl::StatusOr<std::string> JobAsJson(v1::JobSpec job) {
  job.clear_checkpoint();
  job.clear_lease();
  job.clear_recovery();
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(job, &text, options).ok()) {
    return absl::InternalError("the job cannot be written as JSON");
  }
  return text;
}

absl::StatusOr<Exported> ExportModel(const ExportOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const CheckpointReader reader,
                           CheckpointReader::Open(options.checkpoint));
  const v1::JobSpec& job = reader.manifest().job();
  if (options.python) CAPSTAN_RETURN_IF_ERROR(CheckForPython(job));
  if (options.onnx) CAPSTAN_RETURN_IF_ERROR(CheckForOnnx(job));
  CAPSTAN_ASSIGN_OR_RETURN(DenseLayout layout,
                           DenseLayout::Create(job.tensors(), job.partition_count()));
  CAPSTAN_ASSIGN_OR_RETURN(const std::string folder, MakeFolder(options.output));
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store, OpenObjectStore(folder));
  CAPSTAN_RETURN_IF_ERROR(CheckReplaceable(*store, folder));
  StagedFiles files(folder);
  // Every export writes this file, so of several exports at once only the first goes on.
  StagedFiles::File& parameters = files.Add(kParametersFile);
  CAPSTAN_RETURN_IF_ERROR(parameters.status());
  CAPSTAN_RETURN_IF_ERROR(CopyVocabularies(job.data(), files));
  Exporter exporter(reader, options, std::move(layout));
  CAPSTAN_ASSIGN_OR_RETURN(const Exported exported, exporter.Run(parameters));
  CAPSTAN_ASSIGN_OR_RETURN(const std::string text, JobAsJson(job));
  files.AddText(kJobFile, text);
  if (options.python) files.AddText(kScoreProgramName, ScoreProgram());
  if (options.onnx) {
    files.AddText(kOnnxFile, OnnxModel(job, kParametersFile, exporter.StoredTensors()));
  }
  // An old graph names places in the old file of parameters, and an old module has the parameters
  // of another model, so they are removed.
  CAPSTAN_RETURN_IF_ERROR(files.Publish(kParametersFile, {kOnnxFile, kTorchFile}));
  return exported;
}

}  // namespace capstan::cli
