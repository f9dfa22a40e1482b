// The parameters of a finished model in memory: a checkpoint without any process around it.
#ifndef CAPSTAN_CLI_MODEL_FINISHED_MODEL_H_
#define CAPSTAN_CLI_MODEL_FINISHED_MODEL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/store/partition_store.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

// Without what training keeps beside them. Immutable, hence thread-safe: any number of Scorers
// compute with it, or a user's program does.
class FinishedModel {
 public:
  // Returns why a job's model is not wanted; OK if it is.
  using Refusal = absl::FunctionRef<absl::Status(const v1::JobSpec&)>;

  // Reads the checkpoint, or the exported model, in the folder `uri` whole. NOT_FOUND if there is
  // none, or it is deleted meanwhile, DATA_LOSS if a byte of it has changed. What `refusal` says
  // ends it before any parameter is read.
  static absl::StatusOr<FinishedModel> Load(
      const std::string& uri,
      Refusal refusal = [](const v1::JobSpec&) { return absl::OkStatus(); });

  const v1::JobSpec& job() const { return job_; }
  std::span<const float> parameters() const { return parameters_; }  // All tensors, flat.

  // Writes the rows that distinct keys have in a table, one after the other. Keys that training has
  // never met have their initial rows, as in an evaluation. REQUIRES: the job has such a table.
  void PullRows(int table, std::span<const uint64_t> keys, std::vector<float>& rows) const;

 private:
  FinishedModel(v1::JobSpec job, std::vector<std::unique_ptr<PartitionStore>> partitions);

  v1::JobSpec job_;
  std::vector<std::unique_ptr<PartitionStore>> partitions_;
  std::vector<float> parameters_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_FINISHED_MODEL_H_
