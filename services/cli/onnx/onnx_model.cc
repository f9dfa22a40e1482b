#include "cli/onnx/onnx_model.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/model/layout.h"
#include "cli/onnx/onnx_graph.h"
#include "cli/onnx/onnx_towers.h"

namespace capstan::cli {
namespace {

using Extent = OnnxGraph::Extent;
using Value = OnnxGraph::Value;

constexpr int kIrVersion = 7;  // That of opset 13.
constexpr int kOpset = 13;

// The inputs that the towers read, and what follows from them before any tower.
OnnxInputs AddInputs(const v1::JobSpec& job, const ModelShape& shape, OnnxGraph& graph) {
  const Extent records = "records";
  const Extent keys = shape.fields > 0 ? Extent(int64_t{shape.fields}) : Extent("keys");
  OnnxInputs inputs;
  for (const v1::TableSpec& table : job.tables()) {  // One, or none.
    for (const v1::TableSegment& segment : table.segments()) {
      const Value rows = graph.Input(segment.name(), {records, keys, int64_t{segment.width()}});
      (segment.name() == "linear" ? inputs.linear : inputs.embedding) = rows;
    }
  }
  const bool pairs =
      job.data().format() == v1::DATA_FORMAT_LIBSVM || job.data().format() == v1::DATA_FORMAT_LIBFM;
  if (pairs && job.tables_size() > 0) {
    const Value values = graph.Input("values", {records, keys});
    const Value column = graph.Node("Unsqueeze", {values, graph.Constant(std::vector<int64_t>{2})});
    for (Value* rows : {&inputs.linear, &inputs.embedding}) {
      if (!rows->empty()) *rows = graph.Node("Mul", {*rows, column});
    }
  }
  if (shape.dense_width > 0) {
    inputs.dense = graph.Input("numbers", {records, int64_t{shape.dense_width}});
  }
  inputs.features = inputs.dense;
  if (shape.fields > 0 && !inputs.embedding.empty()) {
    inputs.features = graph.Reshaped(inputs.embedding, {-1, shape.embedding_columns()});
    if (!inputs.dense.empty()) {
      inputs.features =
          graph.Node("Concat", {inputs.features, inputs.dense}, {{"axis", int64_t{1}}});
    }
  }
  return inputs;
}

// What logits mean.
Value ScoresOf(const v1::JobSpec& job, const Value& logits, OnnxGraph& graph) {
  switch (job.model().loss()) {
    case v1::LOSS_LOGISTIC:
      return graph.Node("Sigmoid", {logits});
    case v1::LOSS_SOFTMAX:
      return graph.Node("Softmax", {logits}, {{"axis", int64_t{1}}});
    default:
      break;
  }
  if (!job.data().standardize_label()) return logits;
  const double deviation = job.data().label_deviation();
  const Value scale = graph.Constant(static_cast<float>(deviation == 0 ? 1 : deviation));
  const Value mean = graph.Constant(static_cast<float>(job.data().label_mean()));
  return graph.Node("Add", {graph.Node("Mul", {logits, scale}), mean});
}

}  // namespace

absl::StatusOr<std::string> OnnxModel(const v1::JobSpec& job, const std::string& file,
                                      const std::map<std::string, StoredArray>& arrays) {
  if (!job.model().user().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model is the program ", job.model().user(),
                     ", which only Python knows: capstan_ps.load(folder) gives its parameters"));
  }
  const ModelShape shape = ShapeOf(job);
  OnnxGraph graph(file, arrays);
  const OnnxInputs inputs = AddInputs(job, shape, graph);
  Value logits;
  for (const v1::TowerSpec& tower : job.model().towers()) {
    CAPSTAN_ASSIGN_OR_RETURN(const Value own, AddTower(tower, shape, inputs, graph));
    logits = logits.empty() ? own : graph.Node("Add", {logits, own});
  }
  graph.Output("score", ScoresOf(job, logits, graph), {"records", int64_t{shape.outputs}});

  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("capstan");
  model.add_opset_import()->set_version(kOpset);
  *model.mutable_graph() = graph.Take();
  model.mutable_graph()->set_name(job.job());
  return model.SerializeAsString();
}

}  // namespace capstan::cli
