#include "cli/model/scoring.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/status.h"
#include "capstan/config/data_labels.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/other_format.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/data/tasks/tasks.h"
#include "capstan/model/job_scores.h"
#include "capstan/model/metrics.h"
#include "cli/model/scorer.h"

namespace capstan::cli {
namespace {

std::vector<double> Softmax(std::span<const float> logits) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> shares;
  double sum = 0;
  for (float logit : logits) sum += shares.emplace_back(std::exp(double{logit} - largest));
  for (double& share : shares) share /= sum;
  return shares;
}

// Writes a number as Python does: with an exponent below 1e-4 and from 1e16 on.
std::string ShortestText(float number) {
  const double size = std::abs(double{number});
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16) || !std::isfinite(size);
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  return {text.data(), end.ptr};
}

// The given files are read in place of the job's evaluation data.
void ReadInstead(const std::vector<std::string>& files, v1::DataSpec& data) {
  data.clear_eval();
  data.clear_eval_sets();
  for (const std::string& file : files) data.add_eval(file);
  ReadGeneratedAsText(data);
}

absl::Status NoneIsLeft(const BadRecords& bad_records) {
  if (bad_records.count() == 0) {
    return absl::InvalidArgumentError("nothing to evaluate: the data holds no records");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("nothing is left to evaluate: of the data no record is one (",
                   bad_records.count(), "), the first: ", bad_records.examples().front()));
}

}  // namespace

void ReadGeneratedAsText(v1::DataSpec& data) {
  if (data.format() != v1::DATA_FORMAT_SYNTHETIC) return;
  data.set_format(v1::DATA_FORMAT_CSV);
  data.set_columns(data.fields() + 1);
  for (uint32_t column = 1; column <= data.fields(); ++column) {
    data.add_categorical()->set_column(column);
  }
}

absl::StatusOr<BadRecords> ScoreFiles(
    const FinishedModel& model, const ScoringOptions& options,
    absl::FunctionRef<absl::Status(const Batch&, std::span<const float> logits)> visit) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<Scorer> scorer, Scorer::Create(model));
  v1::JobSpec job = model.job();
  if (!options.files.empty()) ReadInstead(options.files, *job.mutable_data());
  const std::unique_ptr<const Source> source = NewDataFiles();
  CAPSTAN_ASSIGN_OR_RETURN(const TaskRanges ranges,
                           PlanTasks(*source, job.data(),
                                     {.split = Split::kEval,
                                      .batch_size = job.train().batch_size(),
                                      .labels = options.labels}));
  BadRecords bad_records(options.max_bad_records.value_or(std::numeric_limits<uint64_t>::max()));
  if (options.max_bad_records) job.mutable_data()->set_max_bad_records(*options.max_bad_records);
  ReaderOptions reading = ReaderOptionsOf(job);
  reading.labels = options.labels;
  TaskReader reader(std::move(reading), *source);
  Batch batch;
  for (uint32_t i = 0; i < ranges.size(); ++i) {
    const absl::StatusOr<std::shared_ptr<const LoadedTask>> read =
        reader.Read({.task = ranges.TaskAt(i), .evaluation = true});
    absl::Status understood = read.status();
    if (read.ok()) understood = bad_records.Add((*read)->bad_records());
    if (!understood.ok()) {
      return WhyNotUnderstood(*source, ranges[i].file(), job.data().format(), understood);
    }
    const std::shared_ptr<const LoadedTask>& loaded = *read;
    for (uint64_t k = 0; k < loaded->batch_count(); ++k) {
      CAPSTAN_RETURN_IF_ERROR(loaded->ReadBatch(k, batch));
      CAPSTAN_RETURN_IF_ERROR(visit(batch, scorer->Logits(batch)));
    }
  }
  return bad_records;
}

absl::StatusOr<Evaluated> Evaluate(const FinishedModel& model, const ScoringOptions& options) {
  const JobScores scores(model.job());
  v1::EvaluationResult sums;
  CAPSTAN_ASSIGN_OR_RETURN(
      const BadRecords bad_records,
      ScoreFiles(model, options, [&](const Batch& batch, std::span<const float> logits) {
        AddToEvaluation(scores.Measured({.logits = logits,
                                         .labels = batch.labels,
                                         .weights = batch.weights,
                                         .groups = batch.groups}),
                        sums);
        return absl::OkStatus();
      }));
  if (sums.examples() == 0) return NoneIsLeft(bad_records);
  return Evaluated{.sums = std::move(sums), .bad_records = bad_records.count()};
}

std::vector<double> PredictionsOf(const v1::JobSpec& job, std::span<const float> logits) {
  if (job.model().loss() == v1::LOSS_SOFTMAX) return Softmax(logits);
  std::vector<double> predictions;
  for (const double logit : logits) {
    const bool logistic = LossOf(job, predictions.size()) == v1::LOSS_LOGISTIC;
    predictions.push_back(logistic ? 1 / (1 + std::exp(-logit)) : InLabelUnit(job.data(), logit));
  }
  return predictions;
}

std::string ScoreText(const v1::JobSpec& job, std::span<const float> logits) {
  return absl::StrJoin(PredictionsOf(job, logits), ",", [](std::string* out, double prediction) {
    absl::StrAppend(out, ShortestText(static_cast<float>(prediction)));
  });
}

}  // namespace capstan::cli
