// Runs a finished model over data files, in the order of their records.
#ifndef CAPSTAN_CLI_MODEL_SCORING_H_
#define CAPSTAN_CLI_MODEL_SCORING_H_

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
  std::vector<std::string> files;  // Paths or globs, of the job's format; empty: its eval data.
  uint64_t max_bad_records = 0;
  Labels labels = Labels::kRequired;
};

// Calls `visit` with every batch and its logits, and returns the records that were left out.
// INVALID_ARGUMENT names the file and the record that is none, where too many are; DATA_LOSS a
// broken file. Stops when `visit` returns an error.
absl::StatusOr<BadRecords> ScoreFiles(
    const FinishedModel& model, const ScoringOptions& options,
    absl::FunctionRef<absl::Status(const Batch&, std::span<const float> logits)> visit);

struct Evaluated {
  v1::EvaluationResult sums;  // For the metrics of all records that were not left out: one or more.
  uint64_t bad_records = 0;   // Were left out.
};

// INVALID_ARGUMENT also where no record is left.
absl::StatusOr<Evaluated> Evaluate(const FinishedModel& model, const ScoringOptions& options);

// Data of a job on the built-in click log become as `capstan data generate` writes it: text, a
// label and behind it all columns. Others stay as they are.
void ReadGeneratedAsText(v1::DataSpec& data);

// What a record's logits mean: the probability (logistic), those of all classes (softmax), the
// value in the label's own unit (squared); of several labels one for each.
std::vector<double> PredictionsOf(const v1::JobSpec& job, std::span<const float> logits);

// Returns these predictions as text, with commas between them: each the shortest one that reads
// back as the same float.
std::string ScoreText(const v1::JobSpec& job, std::span<const float> logits);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_SCORING_H_
