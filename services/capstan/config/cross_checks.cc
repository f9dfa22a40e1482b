#include "capstan/config/cross_checks.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace capstan {
namespace {

bool IsSync(const v1::UpdatePolicy& policy) { return policy.kind() == v1::POLICY_KIND_SYNC; }

// Both parts of a synchronous model move in the same rounds.
void CheckPolicies(const v1::JobSpec& spec, Findings& findings) {
  const v1::UpdatePolicy& dense = spec.dense_update();
  const v1::UpdatePolicy& sparse = spec.sparse_update();
  const auto check = [&](absl::string_view key, uint32_t of_dense, uint32_t of_sparse) {
    if (of_dense == of_sparse) return;
    findings.Refuse(absl::StrCat("update.dense.", key),
                    absl::StrCat(of_dense, " differs from update.sparse.", key, ", ", of_sparse,
                                 ": two synchronous parts move in the same rounds"));
  };
  if (IsSync(dense) && IsSync(sparse)) {
    check("lanes", dense.lanes(), sparse.lanes());
    check("backup_workers", dense.backup_workers(), sparse.backup_workers());
  }
  if (spec.recovery() == v1::RECOVERY_PARTIAL && (IsSync(dense) || IsSync(sparse))) {
    findings.Refuse("recovery", "partial would tear a synchronous round; expected rollback");
  }
  // A shard that comes back is told what has ended since the last checkpoint, so there have to be
  // some.
  if (spec.recovery() == v1::RECOVERY_PARTIAL && !spec.checkpoint().uri().empty() &&
      spec.checkpoint().every_seconds() == 0) {
    findings.Refuse("recovery",
                    "partial takes a shard back to the last checkpoint, and checkpoint.every is 0; "
                    "expected rollback, or a checkpoint.every such as 5m");
  }
}

void CheckReplicas(const v1::JobSpec& spec, Findings& findings) {
  if (spec.recovery() == v1::RECOVERY_REPLICA && spec.replicas() == 0) {
    findings.Refuse(
        "recovery",
        "replica needs replicas: 1, so that each partition has a backup; expected that, "
        "or rollback");
  }
}

void CheckModel(const v1::JobSpec& spec, Findings& findings) {
  const v1::ModelSpec& model = spec.model();
  const bool softmax = model.loss() == v1::LOSS_SOFTMAX;
  if (softmax && model.outputs() == 1) {
    findings.Refuse("model.outputs", "loss: softmax needs at least 2, one a class");
  }
  if (model.loss() != v1::LOSS_UNSPECIFIED && !softmax && model.outputs() > 1) {
    findings.Refuse("model.outputs", absl::StrCat(model.outputs(), " is only for loss: softmax"));
  }
  if (spec.data().binarize_label() && (softmax || model.loss() == v1::LOSS_SQUARED)) {
    findings.Refuse("data.label_threshold", "makes labels 0 and 1, which are for loss: logistic");
  }
}

// A worker takes the steps of a program one at a time.
void CheckUserModel(const v1::JobSpec& spec, Findings& findings) {
  if (spec.model().user().empty() || spec.train().compute_threads() <= 1) return;
  findings.Refuse(
      "train.compute_threads",
      "must be 1 with model.user, whose program computes one step at a time; start more "
      "workers");
}

// Each partition of a shard holds each table, which takes some KiB before it has a row.
constexpr size_t kMostTables = 1000;

void CheckFeatures(const v1::JobSpec& spec, Findings& findings) {
  if (spec.data().features().empty()) return;
  std::set<absl::string_view> tables;
  for (const v1::FeatureSpec& feature : spec.data().features()) tables.insert(feature.table());
  if (tables.size() > kMostTables) {
    findings.Refuse("data.features",
                    absl::StrCat("they have ", tables.size(), " tables; a job has at most ",
                                 kMostTables, ": let features share tables"));
  }
  if (!spec.model().user().empty()) return;
  findings.Refuse("data.features",
                  "are for model.user, a program of your own; presets and towers take "
                  "data.schema.categorical");
}

// The loss that the model will have, where the file leaves it to the preset
// (capstan/model/presets).
v1::Loss LossOf(const v1::ModelSpec& model) {
  if (model.loss() != v1::LOSS_UNSPECIFIED) return model.loss();
  if (model.outputs() > 1 || model.preset() == "softmax") return v1::LOSS_SOFTMAX;
  return model.preset() == "mf" ? v1::LOSS_SQUARED : v1::LOSS_LOGISTIC;
}

// Only what is measured can stop a job (capstan/model/metrics).
void CheckMetric(const v1::JobSpec& spec, Findings& findings) {
  const std::string& metric = spec.train().early_stop().metric();
  const v1::Loss loss = LossOf(spec.model());
  absl::string_view name = "logistic";
  absl::string_view measured = "auc, logloss, accuracy";
  if (loss == v1::LOSS_SOFTMAX) {
    name = "softmax";
    measured = "logloss, accuracy";
  } else if (loss == v1::LOSS_SQUARED) {
    name = "squared";
    measured = "rmse";
  }
  const std::vector<absl::string_view> names = absl::StrSplit(measured, ", ");
  if (metric.empty() || std::find(names.begin(), names.end(), metric) != names.end()) return;
  findings.Refuse(
      "train.early_stop.metric",
      absl::StrCat(metric, " is not measured with loss: ", name, "; expected one of ", measured));
}

void CheckEvaluation(const v1::JobSpec& spec, Findings& findings) {
  const bool synthetic = spec.data().format() == v1::DATA_FORMAT_SYNTHETIC;
  const bool has_eval =
      synthetic ? spec.data().synthetic().eval_rows() > 0 : !spec.data().eval().empty();
  const std::string& metric = spec.train().early_stop().metric();
  if (!metric.empty() && !has_eval) {
    findings.Refuse("train.early_stop", "needs data.eval, on which the metric is measured");
  }
  if (spec.train().evaluate_every_examples() > 0 && !has_eval) {
    findings.Refuse("train.evaluate_every_examples", "needs data.eval");
  }
}

}  // namespace

void CheckAcrossSections(const v1::JobSpec& spec, Findings& findings) {
  CheckPolicies(spec, findings);
  CheckReplicas(spec, findings);
  CheckModel(spec, findings);
  CheckUserModel(spec, findings);
  CheckFeatures(spec, findings);
  CheckEvaluation(spec, findings);
  CheckMetric(spec, findings);
}

}  // namespace capstan
