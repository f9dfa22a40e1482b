#include "capstan/config/describe.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "capstan/config/quantity.h"
#include "capstan/optim/optimizer_description.h"

namespace capstan {
namespace {

constexpr uint64_t kExampleRows = 10'000'000;

uint64_t Weights(const v1::TensorSpec& tensor) {
  uint64_t weights = 1;
  for (const uint32_t width : tensor.shape()) weights *= width;
  return weights;
}

std::string LowerName(absl::string_view enumerator, absl::string_view prefix) {
  std::string name(enumerator.substr(prefix.size()));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c | 0x20; });
  return name;
}

std::string DataLine(const v1::JobSpec& spec) {
  const v1::DataSpec& data = spec.data();
  std::string line = LowerName(v1::DataFormat_Name(data.format()), "DATA_FORMAT_");
  if (data.fields() > 0) absl::StrAppend(&line, ", ", data.fields(), " keys a record");
  if (data.features_size() > 0) absl::StrAppend(&line, ", ", data.features_size(), " features");
  for (const v1::FeatureSpec& feature : data.features()) {
    if (!feature.has_vocabulary()) continue;
    absl::StrAppend(&line, ", ", feature.name(), " of ", feature.vocabulary().entries(), " texts");
  }
  if (data.dense_width() > 0) absl::StrAppend(&line, ", ", data.dense_width(), " numbers a record");
  if (data.has_negatives()) {
    absl::StrAppend(&line, ", ", data.negatives().per_batch(), " negatives a batch of ",
                    data.negatives().candidates(), " candidates");
  }
  if (data.has_weight()) absl::StrAppend(&line, ", weighted");
  if (data.has_group()) absl::StrAppend(&line, ", in groups");
  return line;
}

void AppendTable(std::string* line, const v1::TableSpec& table) {
  absl::StrAppend(line, table.name(), " ", table.dim());
}

std::string ModelLine(const v1::JobSpec& spec) {
  const v1::ModelSpec& model = spec.model();
  uint64_t weights = 0;
  for (const v1::TensorSpec& tensor : spec.tensors()) weights += Weights(tensor);
  std::string line = model.preset().empty() ? "own towers" : model.preset();
  if (!model.user().empty()) line = absl::StrCat("the program ", model.user());
  if (spec.tables_size() == 1) {
    absl::StrAppend(&line, ", ", spec.tables(0).dim(), " floats a row");
  } else if (spec.tables_size() > 1) {
    absl::StrAppend(&line, ", floats a row: ", absl::StrJoin(spec.tables(), ", ", AppendTable));
  }
  if (!model.user().empty() && spec.tensors().empty()) {
    return absl::StrCat(line, ", dense tensors as its first worker declares them");
  }
  return absl::StrCat(line, ", ", weights, " dense parameters in ", spec.tensors_size(),
                      " tensors");
}

std::string PolicyText(const v1::UpdatePolicy& policy) {
  switch (policy.kind()) {
    case v1::POLICY_KIND_SSP:
      return absl::StrCat("ssp (staleness ", policy.staleness(), ")");
    case v1::POLICY_KIND_SYNC:
      return absl::StrCat("sync (", policy.lanes(), " lanes, ", policy.backup_workers(),
                          " backup)");
    default:
      return policy.aggregate() > 1 ? absl::StrCat("async (aggregate ", policy.aggregate(), ")")
                                    : "async";
  }
}

std::string PartLine(const v1::OptimizerSpec& optimizer, const v1::UpdatePolicy& policy) {
  return absl::StrFormat("%s, learning rate %g, %s", OptimizerName(optimizer.kind()),
                         optimizer.learning_rate(), PolicyText(policy));
}

// Describes the tensors whose optimizer differs from optimizer.dense.
std::string GroupLine(const v1::OptimizerGroup& group) {
  const v1::OptimizerSpec& optimizer = group.optimizer();
  return absl::StrFormat("%s: %s, learning rate %g, weight decay %g",
                         absl::StrJoin(group.match(), ", "), OptimizerName(optimizer.kind()),
                         optimizer.learning_rate(), optimizer.weight_decay());
}

// Returns a label's name, and its loss if it has its own.
std::string LabelText(const v1::LabelSpec& label) {
  if (label.loss() == v1::LOSS_UNSPECIFIED) return label.name();
  return absl::StrCat(label.name(), " (", LowerName(v1::Loss_Name(label.loss()), "LOSS_"), ")");
}

std::string TrainingLine(const v1::JobSpec& spec, const JobScale& scale) {
  const v1::TrainSpec& train = spec.train();
  std::vector<absl::string_view> sets;
  for (const v1::EvalSet& set : spec.data().eval_sets()) sets.emplace_back(set.name());
  std::vector<std::string> labels;
  for (const v1::LabelSpec& label : spec.data().labels()) labels.push_back(LabelText(label));
  return absl::StrCat(scale.train_tasks, " tasks, ", train.epochs(),
                      train.epochs() == 1 ? " epoch" : " epochs", ", batches of ",
                      train.batch_size(), "; evaluation ", scale.eval_tasks, " tasks",
                      sets.empty() ? "" : ", of ", absl::StrJoin(sets, ", "),
                      labels.empty() ? "" : "; labels ", absl::StrJoin(labels, ", "));
}

// Describes a shard's part of the weights and of the optimizers' state.
std::string MemoryLine(const v1::JobSpec& spec, const JobScale& scale) {
  const uint64_t shards = std::max(scale.shards, 1);
  const bool open = !spec.model().user().empty() && spec.tensors().empty();
  std::string line =
      open ? "dense as declared" : absl::StrCat(ByteSizeText(scale.dense_bytes), " dense");
  const uint64_t row = scale.row_bytes;
  if (row == 0) return line;
  const uint64_t rows = scale.expected_rows > 0 ? scale.expected_rows : kExampleRows;
  const uint64_t budget = spec.table_limits().byte_budget();
  const bool twice = spec.replicas() > 0 && shards > 1;
  const uint64_t once = budget > 0 ? std::min(budget, rows * row) : rows * row;
  const uint64_t sparse = twice ? 2 * once : once;
  return absl::StrCat(line, ", ", row, " bytes a row at most: ", ByteSizeText(sparse / shards),
                      scale.expected_rows > 0 ? " for about " : " if there were ", rows, " rows",
                      budget > 0 && budget < rows * row ? ", which table.byte_budget allows" : "",
                      shards > 1 ? absl::StrCat(" over ", shards, " shards") : "",
                      twice ? ", each row twice (replicas: 1)" : "");
}

// Warns of settings that leave workers without work.
void WarnOfIdleWorkers(const v1::JobSpec& spec, const JobScale& scale,
                       std::vector<std::string>& warnings) {
  const uint64_t trainers = uint64_t{spec.train().compute_threads()} * scale.workers;
  const uint64_t lanes = std::max(spec.dense_update().lanes(), spec.sparse_update().lanes());
  if (scale.train_tasks < trainers) {
    warnings.push_back(absl::StrCat(scale.train_tasks, " tasks for ", trainers,
                                    " compute threads: some will have nothing to do; smaller "
                                    "data.task_bytes or data.task_records make more tasks"));
  }
  if (lanes > 0 && lanes < trainers) {
    warnings.push_back(absl::StrCat(lanes, " lanes for ", trainers,
                                    " compute threads: some will have nothing to do"));
  }
  if (lanes > scale.train_tasks) {
    warnings.push_back(
        absl::StrCat(lanes, " lanes for ", scale.train_tasks, " tasks: some lanes have no data"));
  }
}

// Warns of learning rates far outside the usual range, with which the loss explodes or does not
// move.
void WarnOfOddRate(absl::string_view key, const v1::OptimizerSpec& optimizer,
                   std::vector<std::string>& warnings) {
  constexpr double kFar = 10;
  const OptimizerDescription* const found = FindOptimizer(optimizer.kind());
  const UsualRates usual = found == nullptr ? UsualRates() : found->usual_rates;
  const double rate = optimizer.learning_rate();
  const bool high = rate > kFar * usual.most;
  if (!high && rate * kFar >= usual.least) return;
  warnings.push_back(
      absl::StrFormat("%s.learning_rate: %g is odd for %s, of which %g to %g are usual; %s", key,
                      rate, OptimizerName(optimizer.kind()), usual.least, usual.most,
                      high ? "the loss may explode" : "the model will hardly learn"));
}

void WarnOfOddRates(const v1::JobSpec& spec, std::vector<std::string>& warnings) {
  const bool dense = !spec.tensors().empty() || !spec.model().user().empty();
  if (dense) WarnOfOddRate("optimizer.dense", spec.dense_optimizer(), warnings);
  for (int i = 0; dense && i < spec.dense_groups_size(); ++i) {
    WarnOfOddRate(absl::StrCat("optimizer.dense.groups[", i, "]"), spec.dense_groups(i).optimizer(),
                  warnings);
  }
  if (!spec.tables().empty()) WarnOfOddRate("optimizer.sparse", spec.sparse_optimizer(), warnings);
}

void WarnOfWhatIsNotDone(const v1::JobSpec& spec, const JobScale& scale,
                         std::vector<std::string>& warnings) {
  if (spec.checkpoint().uri().empty()) {
    warnings.push_back(
        "no checkpoint.uri: `capstan train` keeps the job in capstan-runs/jobs; a chief that is "
        "started by itself, as on a cluster, keeps nothing");
  }
  if (spec.checkpoint().uri().empty() && spec.checkpoint().every_seconds() > 0) {
    warnings.push_back("checkpoint.every has no effect without checkpoint.uri");
  }
  if (spec.replicas() > 0 && scale.shards < 2) {
    warnings.push_back(
        "replicas: 1 has no effect with one shard: no other one could hold a backup");
  }
  if (scale.eval_tasks == 0) warnings.push_back("no data.eval: the model is not evaluated");
  if (static_cast<uint64_t>(scale.shards) > spec.partition_count()) {
    warnings.push_back(absl::StrCat(scale.shards, " shards for ", spec.partition_count(),
                                    " partitions: some shards own nothing"));
  }
}

}  // namespace

JobDescription DescribeJob(const v1::JobSpec& spec, const JobScale& scale) {
  JobDescription description;
  description.lines = {
      absl::StrCat("job       ", spec.job()),
      absl::StrCat("data      ", DataLine(spec)),
      absl::StrCat("model     ", ModelLine(spec)),
      absl::StrCat("dense     ", PartLine(spec.dense_optimizer(), spec.dense_update())),
  };
  for (const v1::OptimizerGroup& group : spec.dense_groups()) {
    description.lines.push_back(absl::StrCat("group     ", GroupLine(group)));
  }
  for (std::string line :
       {absl::StrCat("sparse    ", PartLine(spec.sparse_optimizer(), spec.sparse_update())),
        absl::StrCat("training  ", TrainingLine(spec, scale)),
        absl::StrCat("memory    ", MemoryLine(spec, scale))}) {
    description.lines.push_back(std::move(line));
  }
  WarnOfOddRates(spec, description.warnings);
  WarnOfIdleWorkers(spec, scale, description.warnings);
  WarnOfWhatIsNotDone(spec, scale, description.warnings);
  return description;
}

}  // namespace capstan
