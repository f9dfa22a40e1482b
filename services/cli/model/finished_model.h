// The parameters of a finished model in memory, read from a checkpoint or an export without any
// process around it.
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

// Holds no slots and nothing else that only training needs. Any number of Scorers, or a user's
// program, may compute with it. Immutable, hence thread-safe.
class FinishedModel {
 public:
  // Returns why a job's model is not wanted; OK if it is.
  using Refusal = absl::FunctionRef<absl::Status(const v1::JobSpec&)>;

  // Reads the whole checkpoint or exported model in the folder `uri`. NOT_FOUND: there is none, or
  // it is deleted meanwhile; DATA_LOSS: a byte of it has changed. Calls `refusal` with the job
  // before any parameter is read, and returns its error if it has one.
  static absl::StatusOr<FinishedModel> Load(
      const std::string& uri,
      Refusal refusal = [](const v1::JobSpec&) { return absl::OkStatus(); });

  const v1::JobSpec& job() const { return job_; }
  std::span<const float> parameters() const { return parameters_; }  // All tensors, flat.

  // Replaces `rows` with the rows of `keys`, which are distinct, in a table, one after the other.
  // Keys that training has never met have their initial rows, as in an evaluation. REQUIRES: the
  // job has table number `table`.
  void PullRows(int table, std::span<const uint64_t> keys, std::vector<float>& rows) const;

 private:
  FinishedModel(v1::JobSpec job, std::vector<std::unique_ptr<PartitionStore>> partitions);

  v1::JobSpec job_;
  std::vector<std::unique_ptr<PartitionStore>> partitions_;
  std::vector<float> parameters_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_FINISHED_MODEL_H_
