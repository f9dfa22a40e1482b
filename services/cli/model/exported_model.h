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

// The files of the parameters, and of the job, in such a folder.
inline constexpr char kParametersFile[] = "model.safetensors";
inline constexpr char kJobFile[] = "job.json";

struct ExportOptions {
  std::string checkpoint;  // Its folder.
  std::string output;      // A folder of this machine, a path or file://; made if need be.
  bool slots = false;      // The optimizers' slots as well.
  bool python = false;     // score.py as well: see score_program.h.
  bool onnx = false;       // model.onnx as well: see cli/onnx/onnx_model.h.
};

struct Exported {
  uint64_t rows = 0;
  uint64_t bytes = 0;
};

// Partition after partition, so a model may be larger than memory; its keys may not. What the
// folder held before is replaced when all is written; wherever that is broken off, a folder that
// has kParametersFile holds one model whole. Errors are CheckpointReader's, or of the file system;
// where the job has vocabularies those of ReadVocabularyText; those of CheckReplaceable, and then
// nothing is written; INVALID_ARGUMENT: `output` is elsewhere.
absl::StatusOr<Exported> ExportModel(const ExportOptions& options);

// The text of job.json. What says nothing of the model stays away: two runs of a job differ in it.
absl::StatusOr<std::string> JobAsJson(v1::JobSpec job);

// Returns whether the folder holds an exported model.
bool IsExportedModel(ObjectStore& folder);

// Returns OK where an export would overwrite nothing but an exported model, whole or not.
// FAILED_PRECONDITION: it would overwrite a file of somebody else, which is named.
absl::Status CheckReplaceable(ObjectStore& folder, const std::string& path);

// The name of the copy of a feature's vocabulary in such a folder.
std::string VocabularyName(const v1::FeatureSpec& feature);

// The job of an exported model, as its file says it.
absl::StatusOr<v1::JobSpec> ReadExportedJob(ObjectStore& folder);

// The job of an exported model, with its vocabularies in the folder `uri`, and its parameters as
// partitions of WithoutTraining(job).
struct ImportedModel {
  v1::JobSpec job;
  std::vector<std::unique_ptr<PartitionStore>> partitions;
};
// `job`: as ReadExportedJob has it.
absl::StatusOr<ImportedModel> ImportModel(ObjectStore& folder, const std::string& uri,
                                          v1::JobSpec job);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_EXPORTED_MODEL_H_
