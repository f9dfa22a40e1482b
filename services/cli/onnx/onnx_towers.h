// Builds what each kind of tower computes from operators of ONNX. capstan/model/towers computes the
// same in training, and docs/export.md has the formulas.
#ifndef CAPSTAN_CLI_ONNX_ONNX_TOWERS_H_
#define CAPSTAN_CLI_ONNX_ONNX_TOWERS_H_

#include "capstan/v1/job.pb.h"
#include "cli/onnx/onnx_graph.h"
#include "cli/onnx/onnx_inputs.h"

namespace capstan::cli {

// Returns whether AddTower can add a tower of this kind.
bool HasOnnxForm(const v1::TowerSpec& spec);

// Adds what the tower computes of `inputs` to `graph`, and returns its logits, which broadcast to
// [records, outputs]. REQUIRES: HasOnnxForm(spec).
OnnxGraph::Value AddTower(const v1::TowerSpec& spec, OnnxInputs& inputs, OnnxGraph& graph);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_ONNX_ONNX_TOWERS_H_
