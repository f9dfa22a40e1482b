#include "cli/onnx/onnx_inputs.h"

#include <algorithm>
#include <vector>

#include "capstan/model/layout.h"

namespace capstan::cli {
namespace {

using Extent = OnnxGraph::Extent;
using Value = OnnxGraph::Value;

constexpr char kRecords[] = "records";

// Returns the segment of this name in the first table, or null. Tables of data.features all have
// the same segments.
const v1::TableSegment* FindSegment(const v1::JobSpec& job, const std::string& name) {
  if (job.tables().empty()) return nullptr;
  const auto& segments = job.tables(0).segments();
  const auto found =
      std::find_if(segments.begin(), segments.end(),
                   [&name](const v1::TableSegment& segment) { return segment.name() == name; });
  return found == segments.end() ? nullptr : &*found;
}

// Returns whether the data give each key a value.
bool KeysHaveValues(const v1::DataSpec& data) {
  return data.format() == v1::DATA_FORMAT_LIBSVM || data.format() == v1::DATA_FORMAT_LIBFM;
}

}  // namespace

OnnxInputs::OnnxInputs(const v1::JobSpec& job, OnnxGraph& graph)
    : job_(job),
      graph_(graph),
      shape_(ShapeOf(job)),
      keys_(shape_.fields > 0 ? Extent(int64_t{shape_.fields}) : Extent("keys")) {}

bool OnnxInputs::has_linear() const { return FindSegment(job_, "linear") != nullptr; }

Value OnnxInputs::SegmentOf(const std::string& name, Value& made) {
  if (!made.empty()) return made;
  made = graph_.Input(name, {kRecords, keys_, int64_t{FindSegment(job_, name)->width()}});
  if (!KeysHaveValues(job_.data())) return made;
  if (values_.empty()) {
    const Value axis = graph_.Constant(std::vector<int64_t>{2});
    values_ = graph_.Node("Unsqueeze", {graph_.Input("values", {kRecords, keys_}), axis});
  }
  return made = graph_.Node("Mul", {made, values_});
}

Value OnnxInputs::Dense() {
  if (dense_.empty()) dense_ = graph_.Input("numbers", {kRecords, int64_t{shape_.dense_width}});
  return dense_;
}

Value OnnxInputs::Features() {
  if (!features_.empty()) return features_;
  if (shape_.fields == 0) return features_ = Dense();
  features_ = shape_.embedding_dim > 0
                  ? graph_.Reshaped(Embedding(), {-1, shape_.embedding_columns()})
                  : graph_.Input("embeddings", {kRecords, int64_t{shape_.embedding_columns()}});
  if (shape_.dense_width > 0) {
    features_ = graph_.Node("Concat", {features_, Dense()}, {{"axis", int64_t{1}}});
  }
  return features_;
}

}  // namespace capstan::cli
