// Builds a graph of ONNX, node after node.
#ifndef CAPSTAN_CLI_ONNX_ONNX_GRAPH_H_
#define CAPSTAN_CLI_ONNX_ONNX_GRAPH_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/onnx/onnx_model.h"
#include "onnx/onnx_pb.h"

namespace capstan::cli {

// A Value is the name of a value in the graph. Thread-compatible.
class OnnxGraph {
 public:
  using Value = std::string;
  // The extent of a dimension: a number, or the name of a number that is known when the graph runs.
  using Extent = std::variant<int64_t, std::string>;
  using Attribute = std::pair<const char*, std::variant<int64_t, std::vector<int64_t>, float>>;

  // Parameters refer to `arrays`, which are stored in `file`. `arrays` must outlive this object.
  OnnxGraph(std::string file, const std::map<std::string, StoredArray>& arrays)
      : file_(std::move(file)), arrays_(arrays) {}

  // Adds a float32 input.
  Value Input(const std::string& name, const std::vector<Extent>& shape);
  // Adds the stored array of this name, if the graph does not have it. REQUIRES:
  // HasParameter(name).
  Value Parameter(const std::string& name);
  bool HasParameter(const std::string& name) const { return arrays_.contains(name); }

  Value Constant(float value);
  Value Constant(const std::vector<int64_t>& values);

  // Adds an operator with one output, and returns that output.
  Value Node(const char* op, const std::vector<Value>& inputs,
             std::initializer_list<Attribute> attributes = {});
  // Returns `value` in another shape. An extent of -1 follows from the others.
  Value Reshaped(const Value& value, const std::vector<int64_t>& shape) {
    return Node("Reshape", {value, Constant(shape)});
  }

  // Makes `value` the output `name` of the graph.
  void Output(const std::string& name, const Value& value, const std::vector<Extent>& shape);

  onnx::GraphProto Take() { return std::move(graph_); }

 private:
  static void Describe(const std::string& name, const std::vector<Extent>& shape,
                       onnx::ValueInfoProto& value);
  Value NewName(const std::string& kind);

  const std::string file_;
  const std::map<std::string, StoredArray>& arrays_;
  onnx::GraphProto graph_;
  std::set<std::string> parameters_;  // Parameters that are in the graph already.
  int named_ = 0;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_ONNX_ONNX_GRAPH_H_
