// What each kind of tower computes, as operators of ONNX. capstan/model/towers has the same for
// training, and docs/export.md the formulas.
#ifndef CAPSTAN_CLI_ONNX_ONNX_TOWERS_H_
#define CAPSTAN_CLI_ONNX_ONNX_TOWERS_H_

#include "absl/status/statusor.h"
#include "capstan/model/tower.h"
#include "capstan/v1/job.pb.h"
#include "cli/onnx/onnx_graph.h"

namespace capstan::cli {

// What towers read, as TowerInput is in training; empty: the model has none.
struct OnnxInputs {
  OnnxGraph::Value linear;     // [records, keys, outputs], times the keys' values.
  OnnxGraph::Value embedding;  // [records, keys, embedding_dim], likewise.
  OnnxGraph::Value features;   // [records, feature_columns()].
  OnnxGraph::Value dense;      // [records, dense_width].
};

// Adds what the tower `spec` computes of `inputs` to `graph`, and returns its logits, which
// broadcast to [records, outputs]. INVALID_ARGUMENT: this kind is none of Capstan's own.
absl::StatusOr<OnnxGraph::Value> AddTower(const v1::TowerSpec& spec, const ModelShape& shape,
                                          const OnnxInputs& inputs, OnnxGraph& graph);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_ONNX_ONNX_TOWERS_H_
