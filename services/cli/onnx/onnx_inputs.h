// The inputs of an ONNX graph, which begins behind the rows of keys. Each input is added when a
// tower first reads it.
#ifndef CAPSTAN_CLI_ONNX_ONNX_INPUTS_H_
#define CAPSTAN_CLI_ONNX_ONNX_INPUTS_H_

#include <string>

#include "capstan/model/tower.h"
#include "capstan/v1/job.pb.h"
#include "cli/onnx/onnx_graph.h"

namespace capstan::cli {

// What towers read, as TowerInput in training. `job` and `graph` must outlive this object.
// Thread-compatible.
class OnnxInputs {
 public:
  OnnxInputs(const v1::JobSpec& job, OnnxGraph& graph);

  const ModelShape& shape() const { return shape_; }

  // Returns whether the rows of keys have a segment `linear`.
  bool has_linear() const;
  // The segments of the keys' rows, times the keys' values: [records, keys, outputs] and [records,
  // keys, embedding_dim]. With data.features a feature is a key, and its row the pooled one.
  // REQUIRES of Embedding: features have embeddings of one length.
  OnnxGraph::Value Linear() { return SegmentOf("linear", linear_); }
  OnnxGraph::Value Embedding() { return SegmentOf("embedding", embedding_); }
  // [records, dense_width]. REQUIRES: records have numbers.
  OnnxGraph::Value Dense();
  // [records, feature_columns()]: embeddings side by side, then the numbers.
  OnnxGraph::Value Features();

 private:
  OnnxGraph::Value SegmentOf(const std::string& name, OnnxGraph::Value& made);

  const v1::JobSpec& job_;
  OnnxGraph& graph_;
  const ModelShape shape_;
  const OnnxGraph::Extent keys_;  // The number of keys of a record.
  // Empty: not added yet.
  OnnxGraph::Value linear_, embedding_, values_, dense_, features_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_ONNX_ONNX_INPUTS_H_
