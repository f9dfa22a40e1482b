#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/config/eval_sets.h"
#include "capstan/model/metrics.h"
#include "capstan/model/oddness.h"
#include "cli/commands/command.h"
#include "cli/model/scoring.h"
#include "cli/status/status_view.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

struct ScoringCommandOptions {
  std::string model;
  ScoringOptions scoring;
  std::string output;
};

absl::StatusOr<FinishedModel> LoadModel(const std::string& uri) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string model, FindModel(uri));
  return FinishedModel::Load(model);
}

// Prints the metrics of one set of records; `set`: empty, there is no other.
absl::Status EvaluateSet(const FinishedModel& model, const std::string& set,
                         const ScoringOptions& scoring) {
  CAPSTAN_ASSIGN_OR_RETURN(const v1::EvaluationResult sums, Evaluate(model, scoring));
  v1::Evaluation evaluation;
  for (const auto& [name, value] : MetricsOf(model.job(), sums)) {
    (*evaluation.mutable_metrics())[name] = value;
  }
  const std::string of_set = absl::StrCat(set, set.empty() ? "" : "  ");
  PrintLine(
      absl::StrCat(of_set, Grouped(sums.examples()), " examples  ", RenderMetrics(evaluation)));
  for (const std::string& label : FurtherScopes(evaluation)) {
    PrintLine(absl::StrCat(of_set, label, "  ", RenderMetrics(evaluation, kAllMetrics, label)));
  }
  const std::string odd = OddEvaluation(model.job().model(), evaluation);
  if (!odd.empty()) PrintError(absl::StrCat("warning: ", odd));
  return absl::OkStatus();
}

absl::Status RunEvaluate(const ScoringCommandOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const FinishedModel model, LoadModel(options.model));
  if (!options.scoring.files.empty()) return EvaluateSet(model, "", options.scoring);
  ScoringOptions scoring = options.scoring;
  for (EvalFiles& set : EvalSetsOf(model.job().data())) {
    scoring.files = std::move(set.files);
    CAPSTAN_RETURN_IF_ERROR(EvaluateSet(model, set.name, scoring));
  }
  return absl::OkStatus();
}

// CANCELLED: the reader has gone (`capstan predict ... | head`), for it has what it wanted.
absl::Status WriteError() {
  if (errno == EPIPE) return absl::CancelledError();
  return absl::ErrnoToStatus(errno, "writing scores");
}

absl::Status RunPredict(const ScoringCommandOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const FinishedModel model, LoadModel(options.model));
  std::FILE* output = options.output.empty() ? stdout : std::fopen(options.output.c_str(), "w");
  if (output == nullptr) return absl::ErrnoToStatus(errno, options.output);
  const size_t outputs = model.job().model().outputs();
  absl::Status status =
      ScoreFiles(model, options.scoring, [&](const Batch& batch, std::span<const float> logits) {
        for (size_t i = 0; i < batch.examples(); ++i) {
          const std::string text = ScoreText(model.job(), logits.subspan(i * outputs, outputs));
          const bool ok = std::fprintf(output, "%s\n", text.c_str()) >= 0;  // Numbers: Printable.
          if (!ok) return WriteError();
        }
        return absl::OkStatus();
      });
  // Closing writes what is buffered, so a full disk may show only here.
  const bool closed = (output == stdout ? std::fflush(output) : std::fclose(output)) == 0;
  if (status.ok() && !closed) status = WriteError();
  return absl::IsCancelled(status) ? absl::OkStatus() : status;
}

using ScoringAction = absl::Status (*)(const ScoringCommandOptions&);

std::shared_ptr<ScoringCommandOptions> AddCommon(CLI::App& command, Invocation& invocation,
                                                 ScoringAction action) {
  auto options = std::make_shared<ScoringCommandOptions>();
  command.add_option("model", options->model, "Folder of a checkpoint, a job or an exported model")
      ->required()
      ->type_name("FOLDER");
  command
      .add_option("files", options->scoring.files,
                  "Data in the format of the job; default: the job's eval data")
      ->type_name("FILE");
  command.callback([options, action, &invocation] {
    invocation.run = [options, action] { return ReportEnd(action(*options)); };
  });
  return options;
}

}  // namespace

void AddEvaluate(CLI::App& app, Invocation& invocation) {
  CLI::App* evaluate =
      app.add_subcommand("evaluate", "Tell the metrics of a finished model on data");
  auto options = AddCommon(*evaluate, invocation, RunEvaluate);
  evaluate
      ->add_option("--max-bad-records", options->scoring.max_bad_records,
                   "Records that may be left out because they are none")
      ->capture_default_str();
  evaluate->footer("Example:\n  capstan evaluate model/ctr/checkpoints/976-1 test.csv");
}

void AddPredict(CLI::App& app, Invocation& invocation) {
  CLI::App* predict =
      app.add_subcommand("predict", "Write a finished model's score of each record, a line each");
  auto options = AddCommon(*predict, invocation, RunPredict);
  options->scoring.labels = Labels::kIgnored;
  predict->add_option("--output", options->output, "Where to; default: standard output")
      ->type_name("FILE");
  predict->footer(
      "Example:\n"
      "  capstan predict model/ctr/checkpoints/976-1 test.csv --output scores.csv\n\n"
      "A probability (logistic), one a class (softmax) or a value (squared); of several labels "
      "one\n"
      "for each, in their order. The data has the columns it was trained with; the labels may be\n"
      "left out, and are not looked at.");
}

}  // namespace capstan::cli
