#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/config/eval_sets.h"
#include "capstan/model/metrics.h"
#include "capstan/model/oddness.h"
#include "cli/commands/command.h"
#include "cli/model/scoring.h"
#include "cli/model/staged_files.h"
#include "cli/status/status_view.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

struct ScoringCommandOptions {
  std::string model;
  ScoringOptions scoring;
  std::string output;
};

// Reads the model. INVALID_ARGUMENT: there are no records to score; `wanted` says in the message
// what they are for.
absl::StatusOr<FinishedModel> LoadModel(const ScoringCommandOptions& options, const char* wanted) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string model, FindModel(options.model));
  return FinishedModel::Load(model, [&](const v1::JobSpec& job) {
    if (!options.scoring.files.empty() || HasHeldOut(job.data())) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "nothing to ", wanted, ": the job has no eval data; expected FILEs in its format"));
  });
}

// Prints the metrics of one set of records. `set` is its name; empty: it is the only set.
absl::Status EvaluateSet(const FinishedModel& model, const std::string& set,
                         const ScoringOptions& scoring) {
  CAPSTAN_ASSIGN_OR_RETURN(const Evaluated evaluated, Evaluate(model, scoring));
  v1::Evaluation evaluation;
  for (const auto& [name, value] : MetricsOf(model.job(), evaluated.sums)) {
    (*evaluation.mutable_metrics())[name] = value;
  }
  const std::string of_set = absl::StrCat(set, set.empty() ? "" : "  ");
  const uint64_t bad = evaluated.bad_records;
  const std::string left_out =
      bad == 0 ? "" : absl::StrCat(", ", Grouped(bad), " bad records left out");
  PrintLine(absl::StrCat(of_set, Grouped(evaluated.sums.examples()), " examples", left_out, "  ",
                         RenderMetrics(evaluation)));
  for (const std::string& label : FurtherScopes(evaluation)) {
    PrintLine(absl::StrCat(of_set, label, "  ", RenderMetrics(evaluation, kAllMetrics, label)));
  }
  const std::string odd = OddEvaluation(model.job().model(), evaluation);
  if (!odd.empty()) PrintError(absl::StrCat("warning: ", odd));
  return absl::OkStatus();
}

absl::Status RunEvaluate(const ScoringCommandOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const FinishedModel model, LoadModel(options, "evaluate"));
  if (!options.scoring.files.empty()) return EvaluateSet(model, "", options.scoring);
  ScoringOptions scoring = options.scoring;
  for (EvalFiles& set : EvalSetsOf(model.job().data())) {
    scoring.files = std::move(set.files);
    CAPSTAN_RETURN_IF_ERROR(EvaluateSet(model, set.name, scoring));
  }
  return absl::OkStatus();
}

// Passes the scores of all records to `write`, as text, a batch at a time.
absl::Status Predict(const FinishedModel& model, const ScoringOptions& scoring,
                     absl::FunctionRef<absl::Status(const std::string& text)> write) {
  const size_t outputs = model.job().model().outputs();
  return ScoreFiles(model, scoring,
                    [&](const Batch& batch, std::span<const float> logits) {
                      std::string text;
                      for (size_t i = 0; i < batch.examples(); ++i) {
                        absl::StrAppend(
                            &text, ScoreText(model.job(), logits.subspan(i * outputs, outputs)),
                            "\n");
                      }
                      return write(text);
                    })
      .status();
}

// Returns the error of a failed write, from errno. CANCELLED: the reader is gone (`capstan predict
// ... | head`), as it has enough.
absl::Status WriteError() {
  if (errno == EPIPE) return absl::CancelledError();
  return absl::ErrnoToStatus(errno, "writing scores");
}

absl::Status PredictIntoStream(const FinishedModel& model, const ScoringOptions& scoring,
                               std::FILE* output) {
  CAPSTAN_RETURN_IF_ERROR(Predict(model, scoring, [output](const std::string& text) {
    const bool ok = std::fputs(text.c_str(), output) >= 0;  // Numbers are Printable.
    return ok ? absl::OkStatus() : WriteError();
  }));
  return std::fflush(output) == 0 ? absl::OkStatus() : WriteError();
}

// The old file stays until all scores are written, as it may be the data that is scored.
absl::Status PredictIntoFile(const FinishedModel& model, const ScoringOptions& scoring,
                             const std::filesystem::path& path) {
  StagedFiles files(path.parent_path());
  StagedFiles::File& file = files.Add(path.filename());
  CAPSTAN_RETURN_IF_ERROR(file.status());
  uint64_t written = 0;
  CAPSTAN_RETURN_IF_ERROR(Predict(model, scoring, [&](const std::string& text) {
    file.Write(written, text.data(), text.size());
    written += text.size();
    return file.status();
  }));
  return files.Publish();
}

// A pipe or a device is written directly, as no file may take its place.
absl::Status PredictIntoSpecialFile(const FinishedModel& model, const ScoringOptions& scoring,
                                    const std::string& path) {
  std::FILE* output = std::fopen(path.c_str(), "w");
  if (output == nullptr) return absl::ErrnoToStatus(errno, path);
  const absl::Status status = PredictIntoStream(model, scoring, output);
  std::fclose(output);
  return status;
}

absl::Status PredictInto(const FinishedModel& model, const ScoringOptions& scoring,
                         const std::string& output) {
  if (output.empty()) return PredictIntoStream(model, scoring, stdout);
  std::error_code error;
  const auto kind = std::filesystem::status(output, error).type();
  if (kind != std::filesystem::file_type::regular &&
      kind != std::filesystem::file_type::not_found) {
    return PredictIntoSpecialFile(model, scoring, output);
  }
  // If the path is a link, its target is replaced.
  const auto path = std::filesystem::weakly_canonical(std::filesystem::absolute(output), error);
  if (error) return absl::ErrnoToStatus(error.value(), output);
  return PredictIntoFile(model, scoring, path);
}

absl::Status RunPredict(const ScoringCommandOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const FinishedModel model, LoadModel(options, "predict"));
  const absl::Status status = PredictInto(model, options.scoring, options.output);
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
  evaluate->add_option("--max-bad-records", options->scoring.max_bad_records,
                       "Records that may be left out because they are none; default: as many as "
                       "the job's own evaluations may leave out (data.max_bad_records)");
  evaluate->footer("Example:\n  capstan evaluate model/ctr/checkpoints/976-1 test.csv");
}

void AddPredict(CLI::App& app, Invocation& invocation) {
  CLI::App* predict =
      app.add_subcommand("predict", "Write a finished model's score of each record, a line each");
  auto options = AddCommon(*predict, invocation, RunPredict);
  options->scoring.labels = Labels::kIgnored;
  options->scoring.max_bad_records = 0;  // Each record has its line.
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
