// Runs a finished model over data files, in the order of their records.
#ifndef CAPSTAN_CLI_MODEL_SCORING_H_
#define CAPSTAN_CLI_MODEL_SCORING_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/data/formats/bad_records.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/labels.h"
#include "capstan/v1/chief.pb.h"
#include "cli/model/finished_model.h"

namespace capstan::cli {

struct ScoringOptions {
  // Paths or globs of files in the job's format; empty: the job's evaluation data.
  std::vector<std::string> files;
  // How many records may be left out because they are none. Nothing: as in an evaluation of the
  // job, data.max_bad_records of each task.
  std::optional<uint64_t> max_bad_records;
  Labels labels = Labels::kRequired;
};

// Calls `visit` with every batch and its logits, and returns the bad records, which were left out.
// Stops with the error of `visit` if it returns one. INVALID_ARGUMENT: there are too many bad
// records; the message names the file and the record. DATA_LOSS: a file is damaged.
absl::StatusOr<BadRecords> ScoreFiles(
    const FinishedModel& model, const ScoringOptions& options,
    absl::FunctionRef<absl::Status(const Batch&, std::span<const float> logits)> visit);

struct Evaluated {
  // The sums for metrics over the records that were scored, at least one.
  v1::EvaluationResult sums;
  uint64_t bad_records = 0;  // Records that were left out.
};

// Evaluates the model on the data. Errors as of ScoreFiles; INVALID_ARGUMENT also if no record is
// left to score.
absl::StatusOr<Evaluated> Evaluate(const FinishedModel& model, const ScoringOptions& options);

// If `data` is the built-in click log, changes it to read the text files that `capstan data
// generate` writes: a label and behind it all columns. Leaves other data unchanged.
void ReadGeneratedAsText(v1::DataSpec& data);

// Returns the predictions of a record from its logits: a probability (logistic), the probabilities
// of all classes (softmax), or the value in the label's own unit (squared); with several labels one
// prediction for each.
std::vector<double> PredictionsOf(const v1::JobSpec& job, std::span<const float> logits);

// Returns the predictions of PredictionsOf as text, with commas between them. Each is the shortest
// text that reads back as the same float.
std::string ScoreText(const v1::JobSpec& job, std::span<const float> logits);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_SCORING_H_
