// A trained model that answers: one version of it, in memory.
#ifndef CAPSTAN_CLI_SERVE_SERVED_MODEL_H_
#define CAPSTAN_CLI_SERVE_SERVED_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/inference/inference.h"
#include "capstan/v1/job.pb.h"
#include "cli/model/finished_model.h"
#include "cli/serve/scorer_pool.h"
#include "cli/serve/served_inputs.h"

namespace capstan::cli {

// Thread-safe: requests are read at the same time, and as many computed as the machine has cores.
class ServedModel {
 public:
  // The checkpoint or exported model of a folder; errors are FinishedModel's.
  static absl::StatusOr<std::shared_ptr<ServedModel>> Load(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const std::string& version() const { return version_; }  // The folder's name.
  const v1::JobSpec& job() const { return model_.job(); }
  const ServedInputs& inputs() const { return inputs_; }

  // What it gives, in order: of one label `score`, of a softmax `probabilities`, of several labels
  // each under its name. `values` are empty.
  std::vector<InferOutput> outputs() const;

  struct Answer {
    size_t rows = 0;
    std::vector<InferOutput> outputs;
  };
  // INVALID_ARGUMENT: an input, a record or the name of an output is none.
  absl::StatusOr<Answer> Infer(const InferRequest& request);

 private:
  ServedModel(std::string folder, FinishedModel model);

  const std::string folder_;
  const std::string version_;
  const FinishedModel model_;
  const ServedInputs inputs_;
  std::unique_ptr<ScorerPool> scorers_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_SERVED_MODEL_H_
