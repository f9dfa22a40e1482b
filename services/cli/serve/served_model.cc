#include "cli/serve/served_model.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/quote.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/source.h"
#include "cli/model/scoring.h"
#include "cli/model/stored_job.h"
#include "cli/serve/scorer_pool.h"

namespace capstan::cli {
namespace {

// `command` is that of the program; empty: none is given.
absl::Status CheckWhoComputes(const v1::JobSpec& job, const std::string& command) {
  const std::string& user = job.model().user();
  if (user.empty() == command.empty()) return absl::OkStatus();
  if (user.empty()) {
    return absl::FailedPreconditionError(
        "capstan computes this model itself; --program is for a model of model.user");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("this model is computed by the user's own program, ", user,
                   "; say how it is started, as with --program 'python3 ", user, "'"));
}

}  // namespace

ServedModel::ServedModel(std::string folder, FinishedModel model, Vocabularies vocabularies)
    : folder_(std::move(folder)),
      version_(NameOfFolder(folder_)),
      model_(std::move(model)),
      inputs_(model_.job(), std::move(vocabularies)) {}

absl::StatusOr<std::shared_ptr<ServedModel>> ServedModel::Load(const std::string& folder,
                                                               const ProgramOptions& program) {
  const auto refusal = [&program](const v1::JobSpec& job) {
    return CheckWhoComputes(job, program.command);
  };
  CAPSTAN_ASSIGN_OR_RETURN(FinishedModel model, FinishedModel::Load(folder, refusal));
  using Scorer = absl::StatusOr<std::unique_ptr<BatchScorer>>;
  return Make(folder, std::move(model), [&program](const FinishedModel& of) -> Scorer {
    if (!program.command.empty()) return ProgramPool::Start(of, program);
    return ScorerPool::Create(of, ScorersForThisMachine(of.job().train().step_threads()));
  });
}

absl::StatusOr<std::shared_ptr<ServedModel>> ServedModel::Make(const std::string& folder,
                                                               FinishedModel model,
                                                               NewScorer new_scorer) {
  CAPSTAN_ASSIGN_OR_RETURN(Vocabularies vocabularies,
                           ReadKnownVocabularies(*NewDataFiles(), model.job().data()));
  std::shared_ptr<ServedModel> served(
      new ServedModel(folder, std::move(model), std::move(vocabularies)));
  CAPSTAN_ASSIGN_OR_RETURN(served->scorer_, new_scorer(served->model_));
  return served;
}

std::vector<InferOutput> ServedModel::outputs() const {
  if (job().model().loss() == v1::LOSS_SOFTMAX) {
    return {{.name = "probabilities", .columns = job().model().outputs()}};
  }
  std::vector<InferOutput> outputs;
  for (const v1::LabelSpec& label : job().data().labels())
    outputs.push_back({.name = label.name()});
  if (outputs.empty()) outputs.push_back({.name = "score"});
  return outputs;
}

absl::StatusOr<ServedModel::Answer> ServedModel::Infer(const InferRequest& request) {
  Answer answer = {.outputs = outputs()};
  for (const std::string& wanted : request.outputs) {
    const auto named = [&wanted](const InferOutput& output) { return output.name == wanted; };
    if (std::any_of(answer.outputs.begin(), answer.outputs.end(), named)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no output ", Quoted(wanted), "; expected ",
        absl::StrJoin(answer.outputs, ", ", [](std::string* out, const InferOutput& output) {
          out->append(output.name);
        })));
  }
  CAPSTAN_ASSIGN_OR_RETURN(const Batch batch, inputs_.Read(request));
  answer.rows = batch.examples();
  const size_t width = job().model().outputs();
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<float> logits, scorer_->Logits(batch));
  for (size_t row = 0; row < answer.rows; ++row) {
    const auto predictions = PredictionsOf(job(), std::span(logits).subspan(row * width, width));
    auto next = predictions.begin();
    for (InferOutput& output : answer.outputs) {
      for (size_t i = 0; i < output.columns; ++i) {
        output.values.push_back(static_cast<float>(*next++));
      }
    }
  }
  std::erase_if(answer.outputs, [&request](const InferOutput& output) {
    return !request.outputs.empty() && std::find(request.outputs.begin(), request.outputs.end(),
                                                 output.name) == request.outputs.end();
  });
  return answer;
}

}  // namespace capstan::cli
