// A model outside of Capstan: a folder that holds model.safetensors and job.json, and the
// vocabulary of each of data.features that has one, decompressed, as <feature>.vocabulary.txt.
//
// For a tensor `w` the file holds "w" in its shape; for a table `t` "t.keys" (U64, [rows]) and
// "t.weights" (F32, [rows, dim]), row i of the one belonging to row i of the other, in ascending
// order of keys; with slots also "w.slots" and "t.slots". job.json is the job with the model's
// layout, as protobuf's JSON. Two exports of equal models of a job are equal, byte by byte.
#ifndef CAPSTAN_CLI_MODEL_EXPORTED_MODEL_H_
#define CAPSTAN_CLI_MODEL_EXPORTED_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/store/partition_store.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

// The names of the files of the parameters and of the job in the folder.
inline constexpr char kParametersFile[] = "model.safetensors";
inline constexpr char kJobFile[] = "job.json";
// Those of the graph, and of the module that capstan_ps.export writes: of one model alone.
inline constexpr char kOnnxFile[] = "model.onnx";
inline constexpr char kTorchFile[] = "model.pt";

struct ExportOptions {
  std::string checkpoint;  // The checkpoint's folder.
  std::string output;      // A folder of this machine, as a path or file://; created if need be.
  bool slots = false;      // Export the optimizers' slots as well.
  bool python = false;     // score.py as well: see score_program.h.
  bool onnx = false;       // model.onnx as well: see cli/onnx/onnx_model.h.
};

struct Exported {
  uint64_t rows = 0;
  uint64_t bytes = 0;
};

// Exports a checkpoint partition after partition, so the model may be larger than memory, but its
// keys must fit. Files that the folder held before are replaced once all new ones are written.
// Wherever this is interrupted, a folder that has kParametersFile holds one whole model.
// INVALID_ARGUMENT: `output` is not on this machine. Other errors are those of CheckpointReader, of
// the file system, of ReadVocabularyText if the job has vocabularies, and of CheckReplaceable, upon
// which nothing is written.
absl::StatusOr<Exported> ExportModel(const ExportOptions& options);

// Returns the text of job.json. Settings that say nothing of the model are left out, as they differ
// between two runs of a job.
absl::StatusOr<std::string> JobAsJson(v1::JobSpec job);

// Returns whether the folder holds an exported model.
bool IsExportedModel(ObjectStore& folder);

// Checks that an export would overwrite or remove nothing but an exported model, whole or not.
// FAILED_PRECONDITION: it would overwrite or remove another file, which the message names.
absl::Status CheckReplaceable(ObjectStore& folder, const std::string& path);

// Returns the name of the file of a feature's vocabulary in the folder.
std::string VocabularyName(const v1::FeatureSpec& feature);

// Reads kJobFile of an exported model. DATA_LOSS: it is not the job of one.
absl::StatusOr<v1::JobSpec> ReadExportedJob(ObjectStore& folder);

// The job of an exported model, with its vocabularies in the folder `uri`, and its parameters as
// partitions of WithoutTraining(job).
struct ImportedModel {
  v1::JobSpec job;
  std::vector<std::unique_ptr<PartitionStore>> partitions;
};
// Reads the exported model of the folder into memory. `job` is the result of ReadExportedJob.
// DATA_LOSS, with the array that is meant: kParametersFile does not hold the parameters of the job.
absl::StatusOr<ImportedModel> ImportModel(ObjectStore& folder, const std::string& uri,
                                          v1::JobSpec job);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_EXPORTED_MODEL_H_
