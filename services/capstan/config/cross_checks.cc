#include "capstan/config/cross_checks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/metric_name.h"
#include "capstan/config/data_labels.h"
#include "capstan/config/eval_sets.h"
#include "capstan/config/spelling.h"

namespace capstan {
namespace {

bool IsSync(const v1::UpdatePolicy& policy) { return policy.kind() == v1::POLICY_KIND_SYNC; }

// If both parts of a model are synchronous, they are updated in the same rounds.
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
}

// A shard that comes back is told which streams were closed since the last checkpoint. So there
// must be checkpoints: without them the chief would have to remember every stream that was ever
// closed.
void CheckPartialRecovery(const v1::JobSpec& spec, Findings& findings) {
  if (spec.recovery() != v1::RECOVERY_PARTIAL) return;
  if (spec.checkpoint().uri().empty()) {
    findings.Refuse("recovery",
                    "partial takes a shard back to the last checkpoint, and there are none without "
                    "checkpoint.uri; expected rollback, or a checkpoint.uri");
  } else if (spec.checkpoint().every_seconds() == 0) {
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
  const bool several = !spec.data().labels().empty();  // CheckLabels handles several labels.
  if (model.loss() != v1::LOSS_UNSPECIFIED && !softmax && model.outputs() > 1 && !several) {
    findings.Refuse("model.outputs", absl::StrCat(model.outputs(), " is only for loss: softmax"));
  }
  const bool logistic =
      AnyLabelHas(spec, v1::LOSS_LOGISTIC) || AnyLabelHas(spec, v1::LOSS_UNSPECIFIED);
  if (spec.data().binarize_label() && !logistic) {
    findings.Refuse("data.label_threshold", "makes labels 0 and 1, which are for loss: logistic");
  }
}

// In a worker a program computes one step at a time.
void CheckUserModel(const v1::JobSpec& spec, Findings& findings) {
  if (spec.model().user().empty() || spec.train().compute_threads() <= 1) return;
  findings.Refuse(
      "train.compute_threads",
      "must be 1 with model.user, whose program computes one step at a time; start more "
      "workers");
}

// Each partition of a shard holds each table, which takes some KiB before it has a row.
constexpr size_t kMostTables = 1000;

// Towers read one vector per feature, the sum or mean of its bag.
void CheckPooledFeatures(const v1::DataSpec& data, Findings& findings) {
  for (const v1::FeatureSpec& feature : data.features()) {
    if (feature.pooling() != v1::POOLING_NONE) continue;
    findings.Refuse(absl::StrCat("data.features.", feature.name(), ".pooling"),
                    "none is a sequence, which a program of model.user reads; presets and towers "
                    "take bags: expected sum or mean");
  }
  if (data.has_negatives()) {
    findings.Refuse("data.negatives",
                    "are for the loss of a program of model.user; presets and towers have none");
  }
}

void CheckFeatures(const v1::JobSpec& spec, Findings& findings) {
  if (spec.data().features().empty()) return;
  std::set<absl::string_view> tables;
  for (const v1::FeatureSpec& feature : spec.data().features()) tables.insert(feature.table());
  if (tables.size() > kMostTables) {
    findings.Refuse("data.features",
                    absl::StrCat("they have ", tables.size(), " tables; a job has at most ",
                                 kMostTables, ": let features share tables"));
  }
  if (spec.model().user().empty()) CheckPooledFeatures(spec.data(), findings);
}

// Returns the loss of the label at this place.
v1::Loss LossOfLabel(const v1::JobSpec& spec, size_t label) {
  return LossOf(LabelsOf(spec.data())[label], LossOfModel(spec.model()));
}

absl::string_view NameOf(v1::Loss loss) {
  if (loss == v1::LOSS_SOFTMAX) return "softmax";
  return loss == v1::LOSS_SQUARED ? "squared" : "logistic";
}

// Returns the scopes of metrics (capstan/base/metric_name.h) of the job other than the empty one,
// each with the index of its label: the further sets of held-out records, the further labels, and
// each further label on each further set.
std::map<std::string, size_t, std::less<>> Scopes(const v1::DataSpec& data) {
  std::vector<std::string> sets = {""};
  std::map<std::string, size_t, std::less<>> scopes;
  for (int i = 1; i < data.eval_sets_size(); ++i) sets.push_back(data.eval_sets(i).name());
  for (const std::string& set : sets) {
    scopes.emplace(set, 0);
    for (int i = 1; i < data.labels_size(); ++i) {
      scopes.emplace(JoinScopes(set, data.labels(i).name()), i);
    }
  }
  return scopes;
}

// Each scope has metrics in each evaluation that the chief keeps and reports in its status.
constexpr size_t kMostScopes = 128;

// With several labels, each has an output of its own.
void CheckLabels(const v1::JobSpec& spec, Findings& findings) {
  constexpr char kKey[] = "data.schema.labels";
  const v1::DataSpec& data = spec.data();
  if (data.labels().empty()) return;
  const v1::Loss loss = spec.model().loss();
  if (loss == v1::LOSS_SOFTMAX || spec.model().preset() == "softmax" ||
      !data.label_classes().empty()) {
    findings.Refuse(kKey, "several labels are for loss: logistic or squared");
  } else if (spec.model().outputs() > 0) {
    findings.Refuse("model.outputs", "is the number of data.schema.labels; leave it out");
  }
  if (data.standardize_label()) {
    findings.Refuse("data.label_transform", "standard is for one label, and there are several");
  }
  if (Scopes(data).size() > kMostScopes) {
    findings.Refuse(kKey,
                    absl::StrCat(data.labels_size(), " labels in ", data.eval_sets_size(),
                                 " sets of data.eval are measured apart ", Scopes(data).size(),
                                 " times; at most ", kMostScopes, " are possible"));
  }
  for (const v1::EvalSet& set : data.eval_sets()) {
    for (const v1::LabelSpec& label : data.labels()) {
      if (set.name() != label.name()) continue;
      findings.Refuse(kKey, absl::StrCat(label.name(),
                                         " is the name of a set of data.eval, too; "
                                         "their metrics need names of their own"));
    }
  }
}

// Early stopping needs a metric that is measured.
void CheckMetric(const v1::JobSpec& spec, Findings& findings) {
  constexpr char kKey[] = "train.early_stop.metric";
  const MetricName name = ParseMetricName(spec.train().early_stop().metric());
  if (name.metric.empty()) return;
  const auto scopes = Scopes(spec.data());
  const auto scope = scopes.find(name.scope);
  if (scope == scopes.end()) {
    findings.Refuse(kKey, absl::StrCat(NameMetric(name), ": ", Shown(AbslView(name.scope)),
                                       " is no further set of data.eval and no further label of "
                                       "data.schema; those of the first one are named without it"));
    return;
  }
  const absl::string_view metric = AbslView(name.metric);
  const v1::Loss loss = LossOfLabel(spec, scope->second);
  const std::vector<absl::string_view> names = MeasuredWith(loss, spec.data().has_group());
  if (std::find(names.begin(), names.end(), metric) != names.end()) return;
  findings.Refuse(kKey, absl::StrCat(metric, " is not measured with loss: ", NameOf(loss),
                                     "; expected one of ", absl::StrJoin(names, ", ")));
}

void CheckGroup(const v1::JobSpec& spec, Findings& findings) {
  if (!spec.data().has_group()) return;
  for (size_t i = 0; i < LabelCountOf(spec.data()); ++i) {
    if (LossOfLabel(spec, i) == v1::LOSS_LOGISTIC) return;
  }
  findings.Refuse("data.schema.group",
                  "is for the AUC within groups, which is measured with loss: logistic only");
}

void CheckEvaluation(const v1::JobSpec& spec, Findings& findings) {
  const bool has_eval = HasHeldOut(spec.data());
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
  CheckPartialRecovery(spec, findings);
  CheckReplicas(spec, findings);
  CheckModel(spec, findings);
  CheckLabels(spec, findings);
  CheckUserModel(spec, findings);
  CheckFeatures(spec, findings);
  CheckGroup(spec, findings);
  CheckEvaluation(spec, findings);
  CheckMetric(spec, findings);
}

}  // namespace capstan
