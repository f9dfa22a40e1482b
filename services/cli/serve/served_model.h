// A trained model that answers: one version of it, in memory.
#ifndef CAPSTAN_CLI_SERVE_SERVED_MODEL_H_
#define CAPSTAN_CLI_SERVE_SERVED_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "capstan/inference/inference.h"
#include "capstan/v1/job.pb.h"
#include "cli/model/finished_model.h"
#include "cli/serve/batch_scorer.h"
#include "cli/serve/program_pool.h"
#include "cli/serve/served_inputs.h"

namespace capstan::cli {

// Thread-safe: requests are read at the same time, and as many computed as the machine has cores,
// or a user's program has processes.
class ServedModel {
 public:
  // The checkpoint or exported model of a folder, which the program computes if it is that of
  // model.user. Errors are FinishedModel's and ProgramPool's, and those of ReadKnownVocabularies;
  // FAILED_PRECONDITION, too, for a model of towers and a program, and for one of model.user and
  // none: that is known before any parameter is read.
  static absl::StatusOr<std::shared_ptr<ServedModel>> Load(const std::string& folder,
                                                           const ProgramOptions& program);

  // Returns who computes with a model, which outlives it.
  using NewScorer =
      absl::FunctionRef<absl::StatusOr<std::unique_ptr<BatchScorer>>(const FinishedModel&)>;
  // Likewise, of the model in memory that is the one of this folder.
  static absl::StatusOr<std::shared_ptr<ServedModel>> Make(const std::string& folder,
                                                           FinishedModel model,
                                                           NewScorer new_scorer);

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
  // INVALID_ARGUMENT: an input, a record or the name of an output is none. Others are
  // BatchScorer's.
  absl::StatusOr<Answer> Infer(const InferRequest& request);

  // Whether it can answer at present.
  bool ready() const { return scorer_->ready(); }

 private:
  ServedModel(std::string folder, FinishedModel model, Vocabularies vocabularies);

  const std::string folder_;
  const std::string version_;
  const FinishedModel model_;
  const ServedInputs inputs_;
  std::unique_ptr<BatchScorer> scorer_;  // Last: it uses the model.
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_SERVED_MODEL_H_
