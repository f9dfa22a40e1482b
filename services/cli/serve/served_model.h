// One version of a trained model, in memory, that answers requests.
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

// Requests are parsed in parallel; as many are computed at a time as the machine has cores, or the
// user's program has processes. Thread-safe.
class ServedModel {
 public:
  // Loads the checkpoint or exported model of a folder. `program` computes it if the job has
  // model.user. Errors are those of FinishedModel, ProgramPool and ReadKnownVocabularies.
  // FAILED_PRECONDITION also if a program is given for a model of towers, or none for model.user,
  // which is checked before any parameter is read.
  static absl::StatusOr<std::shared_ptr<ServedModel>> Load(const std::string& folder,
                                                           const ProgramOptions& program);

  // Makes the BatchScorer of a model, which outlives it.
  using NewScorer =
      absl::FunctionRef<absl::StatusOr<std::unique_ptr<BatchScorer>>(const FinishedModel&)>;
  // The same for a model that is in memory already and was read from `folder`.
  static absl::StatusOr<std::shared_ptr<ServedModel>> Make(const std::string& folder,
                                                           FinishedModel model,
                                                           NewScorer new_scorer);

  const std::string& folder() const { return folder_; }
  const std::string& version() const { return version_; }  // The folder's name.
  const v1::JobSpec& job() const { return model_.job(); }
  const ServedInputs& inputs() const { return inputs_; }

  // The outputs of an answer, in their order, without values: `score` for one label,
  // `probabilities` for a softmax, and with several labels one output of each label's name.
  std::vector<InferOutput> outputs() const;

  struct Answer {
    size_t rows = 0;
    std::vector<InferOutput> outputs;
  };
  // Answers a request. INVALID_ARGUMENT: an input or a record is malformed, or an output is asked
  // for that the model does not have. Other errors are those of BatchScorer.
  absl::StatusOr<Answer> Infer(const InferRequest& request);

  // Returns whether requests can be answered at present.
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
