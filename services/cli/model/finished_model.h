// A finished model in memory, to score records with: a checkpoint without any process around it.
#ifndef CAPSTAN_CLI_MODEL_FINISHED_MODEL_H_
#define CAPSTAN_CLI_MODEL_FINISHED_MODEL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/feed/deduplicate.h"
#include "capstan/data/formats/batch.h"
#include "capstan/model/network.h"
#include "capstan/store/partition_store.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

// Thread-compatible.
class FinishedModel {
 public:
  // Reads the checkpoint, or the exported model, in the folder `uri` whole. NOT_FOUND if there is
  // none, DATA_LOSS if a byte of it has changed.
  static absl::StatusOr<FinishedModel> Load(const std::string& uri);

  const v1::JobSpec& job() const { return job_; }

  // The logits, job().model().outputs() an example; valid until the next call. Keys that training
  // has never met have their initial rows, as in an evaluation.
  std::span<const float> Logits(const Batch& batch);

 private:
  explicit FinishedModel(v1::JobSpec job) : job_(std::move(job)) {}
  static absl::StatusOr<FinishedModel> Of(v1::JobSpec job,
                                          std::vector<std::unique_ptr<PartitionStore>> partitions);
  void PullRows(std::span<const uint64_t> keys);

  v1::JobSpec job_;
  std::vector<std::unique_ptr<PartitionStore>> partitions_;
  std::vector<float> parameters_;  // All tensors, flat.
  std::unique_ptr<Network> network_;

  // Scratch of the last batch, kept for its capacity.
  Deduplicator deduplicator_;
  UniqueKeys keys_;
  std::vector<float> rows_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_FINISHED_MODEL_H_
