#include "cli/onnx/onnx_towers.h"

#include <numbers>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/model/batch_norm.h"

namespace capstan::cli {
namespace {

using Value = OnnxGraph::Value;

constexpr float kLeak = 0.01f;  // The same slope as in capstan/model/activation.cc.

// One tower of the model.
class Builder {
 public:
  Builder(const v1::TowerSpec& spec, OnnxInputs& inputs, OnnxGraph& graph)
      : spec_(spec), shape_(inputs.shape()), inputs_(inputs), graph_(graph) {}

  Value Bias() { return Parameter("bias"); }

  Value Linear() {
    Value sum;
    if (inputs_.has_linear()) sum = SumOfKeys(inputs_.Linear());
    if (!graph_.HasParameter(NameOf("weights"))) return sum;
    const Value product = graph_.Node("MatMul", {inputs_.Dense(), Parameter("weights")});
    return sum.empty() ? product : graph_.Node("Add", {sum, product});
  }

  Value Fm() {
    const Value rows = inputs_.Embedding();
    const Value sum = SumOfKeys(rows);
    const Value squares = SumOfKeys(graph_.Node("Mul", {rows, rows}));
    const Value pairs = graph_.Node("Sub", {graph_.Node("Mul", {sum, sum}), squares});
    const Value total = graph_.Node("ReduceSum", {pairs, graph_.Constant(std::vector<int64_t>{1})});
    return graph_.Node("Mul", {total, graph_.Constant(0.5f)});
  }

  Value Mlp() { return Stack(inputs_.Features(), ""); }

  Value Cross() {
    const Value features = inputs_.Features();
    Value x = features;
    for (uint32_t i = 0; i < spec_.layers(); ++i) {
      const Value product = graph_.Node("MatMul", {x, Parameter(absl::StrCat("weights_", i))});
      const Value layer = graph_.Node("Add", {product, Parameter(absl::StrCat("bias_", i))});
      x = graph_.Node("Add", {graph_.Node("Mul", {features, layer}), x});
    }
    return graph_.Node("MatMul", {x, Parameter("head")});
  }

  // The products of all pairs of vectors form a matrix for each record; its elements below the
  // diagonal are taken, row by row.
  Value Dot() {
    Value own, vectors = inputs_.Embedding();
    int64_t count = shape_.fields;
    if (graph_.HasParameter(NameOf("bottom_weights_0"))) {
      own = Stack(inputs_.Dense(), "bottom_");
      const Value first = graph_.Reshaped(own, {-1, 1, shape_.embedding_dim});
      vectors = graph_.Node("Concat", {first, vectors}, {{"axis", int64_t{1}}});
      ++count;
    }
    const Value turned =
        graph_.Node("Transpose", {vectors}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    const Value all =
        graph_.Reshaped(graph_.Node("MatMul", {vectors, turned}), {-1, count * count});
    std::vector<int64_t> below;
    for (int64_t a = 1; a < count; ++a) {
      for (int64_t b = 0; b < a; ++b) below.push_back(a * count + b);
    }
    Value top = graph_.Node("Gather", {all, graph_.Constant(below)}, {{"axis", int64_t{1}}});
    if (!own.empty()) top = graph_.Node("Concat", {own, top}, {{"axis", int64_t{1}}});
    return Stack(top, "top_");
  }

  // ONNX has channels in front of rows and columns; Capstan's images and kernels have them last.
  Value Conv() {
    int64_t channels = shape_.dense_width / (shape_.image_height * shape_.image_width);
    const Value pixels =
        graph_.Reshaped(inputs_.Dense(), {-1, shape_.image_height, shape_.image_width, channels});
    Value x = graph_.Node("Transpose", {pixels}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
    int64_t height = shape_.image_height, width = shape_.image_width;
    for (int i = 0; i < spec_.hidden_size(); ++i) {
      const int64_t out = spec_.hidden(i);
      const Value kernel =
          graph_.Reshaped(Parameter(absl::StrCat("kernel_", i)), {3, 3, channels, out});
      const Value turned =
          graph_.Node("Transpose", {kernel}, {{"perm", std::vector<int64_t>{3, 2, 0, 1}}});
      x = graph_.Node("Conv", {x, turned, Parameter(absl::StrCat("kernel_bias_", i))},
                      {{"kernel_shape", std::vector<int64_t>{3, 3}},
                       {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
      x = graph_.Node(
          "MaxPool", {graph_.Node("Relu", {x})},
          {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
      channels = out;
      height /= 2;
      width /= 2;
    }
    x = graph_.Node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
    return Stack(graph_.Reshaped(x, {-1, height * width * channels}), "head_");
  }

 private:
  std::string NameOf(const std::string& tensor) const {
    return absl::StrCat(spec_.name(), "/", tensor);
  }
  Value Parameter(const std::string& tensor) { return graph_.Parameter(NameOf(tensor)); }

  // [records, keys, width] -> [records, width].
  Value SumOfKeys(const Value& rows) {
    return graph_.Node("ReduceSum", {rows, graph_.Constant(std::vector<int64_t>{1})},
                       {{"keepdims", int64_t{0}}});
  }

  // Fully connected layers, as DenseStack computes them when it scores.
  Value Stack(Value x, const std::string& prefix) {
    for (int i = 0; graph_.HasParameter(NameOf(absl::StrCat(prefix, "weights_", i))); ++i) {
      const auto tensor = [&](const std::string& name) {
        return absl::StrCat(prefix, name, "_", i);
      };
      if (i > 0) x = Activated(x);
      x = graph_.Node("MatMul", {x, Parameter(tensor("weights"))});
      if (graph_.HasParameter(NameOf(tensor("scale")))) {
        const Value variance = graph_.Node("Relu", {Parameter(tensor("variance"))});
        const Value deviation = graph_.Node(
            "Sqrt", {graph_.Node("Add", {variance, graph_.Constant(BatchNorm::kEpsilon)})});
        x = graph_.Node("Div", {graph_.Node("Sub", {x, Parameter(tensor("mean"))}), deviation});
        x = graph_.Node("Mul", {x, Parameter(tensor("scale"))});
      }
      x = graph_.Node("Add", {x, Parameter(tensor("bias"))});
    }
    return x;
  }

  Value Activated(const Value& x) {
    switch (spec_.activation()) {
      case v1::ACTIVATION_TANH:
        return graph_.Node("Tanh", {x});
      case v1::ACTIVATION_SIGMOID:
        return graph_.Node("Sigmoid", {x});
      case v1::ACTIVATION_GELU: {
        const Value root = graph_.Constant(std::numbers::sqrt2_v<float>);
        const Value erf = graph_.Node("Erf", {graph_.Node("Div", {x, root})});
        const Value above = graph_.Node("Add", {erf, graph_.Constant(1.0f)});
        const Value half = graph_.Node("Mul", {x, graph_.Constant(0.5f)});
        return graph_.Node("Mul", {half, above});
      }
      case v1::ACTIVATION_SILU:
        return graph_.Node("Mul", {x, graph_.Node("Sigmoid", {x})});
      case v1::ACTIVATION_LEAKY_RELU:
        return graph_.Node("LeakyRelu", {x}, {{"alpha", kLeak}});
      case v1::ACTIVATION_ELU:
        return graph_.Node("Elu", {x});
      default:
        return graph_.Node("Relu", {x});
    }
  }

  const v1::TowerSpec& spec_;
  const ModelShape& shape_;
  OnnxInputs& inputs_;
  OnnxGraph& graph_;
};

using Build = Value (Builder::*)();

constexpr std::pair<std::string_view, Build> kKinds[] = {
    {"bias", &Builder::Bias}, {"linear", &Builder::Linear}, {"fm", &Builder::Fm},
    {"mlp", &Builder::Mlp},   {"cross", &Builder::Cross},   {"dot", &Builder::Dot},
    {"conv", &Builder::Conv}};

// Returns null if the kind is not one of Capstan's own.
Build BuildOf(std::string_view kind) {
  for (const auto& [known, build] : kKinds) {
    if (known == kind) return build;
  }
  return nullptr;
}

}  // namespace

bool HasOnnxForm(const v1::TowerSpec& spec) { return BuildOf(spec.kind()) != nullptr; }

Value AddTower(const v1::TowerSpec& spec, OnnxInputs& inputs, OnnxGraph& graph) {
  Builder builder(spec, inputs, graph);
  return (builder.*BuildOf(spec.kind()))();
}

}  // namespace capstan::cli
