#include "cli/onnx/onnx_model.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/config/data_labels.h"
#include "capstan/model/network.h"
#include "cli/onnx/onnx_graph.h"
#include "cli/onnx/onnx_inputs.h"
#include "cli/onnx/onnx_towers.h"

namespace capstan::cli {
namespace {

using Value = OnnxGraph::Value;

constexpr int kIrVersion = 7;  // The version that belongs to opset 13.
constexpr int kOpset = 13;

// For labels with different losses: probabilities where a label's loss is logistic, logits where it
// is not.
Value ScoresOfLabels(const v1::JobSpec& job, const Value& logits, OnnxGraph& graph) {
  std::vector<Value> columns;
  for (int64_t i = 0; i < job.data().labels_size(); ++i) {
    const Value column =
        graph.Node("Gather", {logits, graph.Constant(std::vector{i})}, {{"axis", int64_t{1}}});
    const bool logistic = LossOf(job, static_cast<size_t>(i)) == v1::LOSS_LOGISTIC;
    columns.push_back(logistic ? graph.Node("Sigmoid", {column}) : column);
  }
  return graph.Node("Concat", columns, {{"axis", int64_t{1}}});
}

// Turns logits into predictions.
Value ScoresOf(const v1::JobSpec& job, const Value& logits, OnnxGraph& graph) {
  if (job.model().loss() == v1::LOSS_SOFTMAX) {
    return graph.Node("Softmax", {logits}, {{"axis", int64_t{1}}});
  }
  if (!AnyLabelHas(job, v1::LOSS_SQUARED)) return graph.Node("Sigmoid", {logits});
  if (AnyLabelHas(job, v1::LOSS_LOGISTIC)) return ScoresOfLabels(job, logits, graph);
  if (!job.data().standardize_label()) return logits;
  const double deviation = job.data().label_deviation();
  const Value scale = graph.Constant(static_cast<float>(deviation == 0 ? 1 : deviation));
  const Value mean = graph.Constant(static_cast<float>(job.data().label_mean()));
  return graph.Node("Add", {graph.Node("Mul", {logits, scale}), mean});
}

}  // namespace

absl::Status CheckForOnnx(const v1::JobSpec& job) {
  if (const std::string& program = job.model().user(); !program.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model is the program ", program,
                     ", which only Python knows: capstan_ps.load(...).to_onnx exports it"));
  }
  bool reads = false;
  for (const v1::TowerSpec& tower : job.model().towers()) {
    if (!HasOnnxForm(tower)) {
      return absl::InvalidArgumentError(absl::StrCat("tower ", tower.name(), ": the kind ",
                                                     tower.kind(), " has no form in ONNX here"));
    }
    reads = reads || tower.kind() != "bias";
  }
  if (!reads) return absl::InvalidArgumentError("the model reads nothing of a record");
  return Network::Create(job).status();
}

std::string OnnxModel(const v1::JobSpec& job, const std::string& file,
                      const std::map<std::string, StoredArray>& arrays) {
  OnnxGraph graph(file, arrays);
  OnnxInputs inputs(job, graph);
  Value logits;
  for (const v1::TowerSpec& tower : job.model().towers()) {
    const Value own = AddTower(tower, inputs, graph);
    logits = logits.empty() ? own : graph.Node("Add", {logits, own});
  }
  graph.Output("score", ScoresOf(job, logits, graph), {"records", int64_t{inputs.shape().outputs}});

  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("capstan");
  model.add_opset_import()->set_version(kOpset);
  *model.mutable_graph() = graph.Take();
  model.mutable_graph()->set_name(job.job());
  return model.SerializeAsString();
}

}  // namespace capstan::cli
