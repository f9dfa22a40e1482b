// Computes a graph of ONNX as the operators' documents say, as far as Capstan's towers but conv use
// them, for comparing it with what the towers compute.
#ifndef CAPSTAN_TESTS_UNIT_CLI_ONNX_EVALUATE_GRAPH_H_
#define CAPSTAN_TESTS_UNIT_CLI_ONNX_EVALUATE_GRAPH_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "onnx/onnx_pb.h"

namespace capstan::cli {

// Elements in row-major order.
struct OnnxArray {
  std::vector<int64_t> shape;
  std::vector<double> data;
};

inline int64_t SizeOf(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// Returns `of` with its elements repeated to fill `shape`, as ONNX broadcasts.
inline OnnxArray Broadcast(const OnnxArray& of, const std::vector<int64_t>& shape) {
  OnnxArray wide = {shape, std::vector<double>(static_cast<size_t>(SizeOf(shape)))};
  const size_t missing = shape.size() - of.shape.size();
  for (size_t at = 0; at < wide.data.size(); ++at) {
    int64_t rest = static_cast<int64_t>(at), from = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      const int64_t place = rest % shape[d];
      rest /= shape[d];
      if (d < missing) continue;
      const int64_t extent = of.shape[d - missing];
      from += (extent == 1 ? 0 : place) * stride;
      stride *= extent;
    }
    wide.data[at] = of.data[static_cast<size_t>(from)];
  }
  return wide;
}

inline OnnxArray Elementwise(const OnnxArray& a, const OnnxArray& b,
                             const std::function<double(double, double)>& op) {
  std::vector<int64_t> shape = a.shape.size() >= b.shape.size() ? a.shape : b.shape;
  const std::vector<int64_t>& other = a.shape.size() >= b.shape.size() ? b.shape : a.shape;
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t& extent = shape[shape.size() - 1 - i];
    extent = std::max(extent, other[other.size() - 1 - i]);
  }
  OnnxArray left = Broadcast(a, shape);
  const OnnxArray right = Broadcast(b, shape);
  for (size_t i = 0; i < left.data.size(); ++i) left.data[i] = op(left.data[i], right.data[i]);
  return left;
}

// [..., n, k] times [..., k, m]; the dimensions in front agree, or one of them has none.
inline OnnxArray MatMul(const OnnxArray& a, const OnnxArray& b) {
  const int64_t n = a.shape[a.shape.size() - 2], k = a.shape.back(), m = b.shape.back();
  EXPECT_EQ(b.shape[b.shape.size() - 2], k);
  OnnxArray product = {a.shape, {}};
  product.shape.back() = m;
  const int64_t count = SizeOf(a.shape) / (n * k);
  for (int64_t batch = 0; batch < count; ++batch) {
    const double* left = &a.data[static_cast<size_t>(batch * n * k)];
    const double* right = &b.data[static_cast<size_t>(b.shape.size() > 2 ? batch * k * m : 0)];
    for (int64_t row = 0; row < n; ++row) {
      for (int64_t column = 0; column < m; ++column) {
        double sum = 0;
        for (int64_t i = 0; i < k; ++i) sum += left[row * k + i] * right[i * m + column];
        product.data.push_back(sum);
      }
    }
  }
  return product;
}

// Of an array that is cut along dimension 1 into slices: those with these numbers, in this order.
inline OnnxArray Slices(const OnnxArray& of, const std::vector<int64_t>& numbers) {
  const int64_t inner = SizeOf({of.shape.begin() + 2, of.shape.end()});
  OnnxArray taken = {of.shape, {}};
  taken.shape[1] = static_cast<int64_t>(numbers.size());
  for (int64_t row = 0; row < of.shape[0]; ++row) {
    for (const int64_t number : numbers) {
      const auto begin = of.data.begin() + (row * of.shape[1] + number) * inner;
      taken.data.insert(taken.data.end(), begin, begin + inner);
    }
  }
  return taken;
}

inline OnnxArray SumOfDimension1(const OnnxArray& of, bool keep) {
  OnnxArray sum = {of.shape, std::vector<double>(static_cast<size_t>(
                                 of.shape[1] == 0 ? 0 : SizeOf(of.shape) / of.shape[1]))};
  const int64_t inner = SizeOf({of.shape.begin() + 2, of.shape.end()});
  for (int64_t row = 0; row < of.shape[0]; ++row) {
    for (int64_t i = 0; i < of.shape[1] * inner; ++i) {
      sum.data[static_cast<size_t>(row * inner + i % inner)] +=
          of.data[static_cast<size_t>(row * of.shape[1] * inner + i)];
    }
  }
  sum.shape[1] = 1;
  if (!keep) sum.shape.erase(sum.shape.begin() + 1);
  return sum;
}

inline OnnxArray Transposed(const OnnxArray& of) {  // The last two of three dimensions.
  const int64_t rows = of.shape[1], columns = of.shape[2];
  OnnxArray turned = {{of.shape[0], columns, rows}, {}};
  for (int64_t batch = 0; batch < of.shape[0]; ++batch) {
    for (int64_t column = 0; column < columns; ++column) {
      for (int64_t row = 0; row < rows; ++row) {
        turned.data.push_back(
            of.data[static_cast<size_t>((batch * rows + row) * columns + column)]);
      }
    }
  }
  return turned;
}

inline OnnxArray Joined(const OnnxArray& a, const OnnxArray& b) {  // Along dimension 1.
  OnnxArray joined = {a.shape, {}};
  joined.shape[1] += b.shape[1];
  for (int64_t row = 0; row < a.shape[0]; ++row) {
    for (const OnnxArray* part : {&a, &b}) {
      const int64_t length = SizeOf(part->shape) / part->shape[0];
      const auto begin = part->data.begin() + row * length;
      joined.data.insert(joined.data.end(), begin, begin + length);
    }
  }
  return joined;
}

// The values of a graph by their names: first those of its inputs and parameters.
class GraphValues {
 public:
  explicit GraphValues(std::map<std::string, OnnxArray> given) : values_(std::move(given)) {}

  const OnnxArray& at(const std::string& name) const { return values_.at(name); }

  void Compute(const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      if (tensor.data_location() == onnx::TensorProto::EXTERNAL) continue;
      OnnxArray& array = values_[tensor.name()];
      array.shape.assign(tensor.dims().begin(), tensor.dims().end());
      array.data.assign(tensor.float_data().begin(), tensor.float_data().end());
      if (tensor.data_type() != onnx::TensorProto::INT64) continue;
      array.data.assign(tensor.int64_data().begin(), tensor.int64_data().end());
    }
    for (const onnx::NodeProto& node : graph.node()) values_[node.output(0)] = Of(node);
  }

 private:
  std::vector<int64_t> Numbers(const std::string& name) const {
    return {at(name).data.begin(), at(name).data.end()};
  }

  OnnxArray Of(const onnx::NodeProto& node) const {
    const std::string& op = node.op_type();
    const OnnxArray& x = at(node.input(0));
    if (op == "Identity") return x;
    if (op == "MatMul") return MatMul(x, at(node.input(1)));
    if (op == "Add") return Elementwise(x, at(node.input(1)), std::plus<>());
    if (op == "Sub") return Elementwise(x, at(node.input(1)), std::minus<>());
    if (op == "Mul") return Elementwise(x, at(node.input(1)), std::multiplies<>());
    if (op == "Div") return Elementwise(x, at(node.input(1)), std::divides<>());
    if (op == "Concat") return Joined(x, at(node.input(1)));
    if (op == "Gather") return Slices(x, Numbers(node.input(1)));
    if (op == "Transpose") return Transposed(x);
    if (op == "ReduceSum") return SumOfDimension1(x, /*keep=*/node.attribute_size() == 0);
    if (op == "Reshape") return Reshaped(x, Numbers(node.input(1)));
    if (op == "Unsqueeze") return {{x.shape[0], x.shape[1], 1}, x.data};
    OnnxArray y = x;
    const float alpha = node.attribute_size() > 0 ? node.attribute(0).f() : 1;
    for (double& value : y.data) value = Activation(op, value, alpha);
    return y;
  }

  static OnnxArray Reshaped(const OnnxArray& x, std::vector<int64_t> shape) {
    for (int64_t& extent : shape) {
      if (extent < 0) extent = static_cast<int64_t>(x.data.size()) / -SizeOf(shape);
    }
    return {shape, x.data};
  }

  static double Activation(const std::string& op, double x, double alpha) {
    if (op == "Relu") return std::max(x, 0.0);
    if (op == "Sqrt") return std::sqrt(x);
    if (op == "Tanh") return std::tanh(x);
    if (op == "Sigmoid") return 1 / (1 + std::exp(-x));
    if (op == "Erf") return std::erf(x);
    if (op == "LeakyRelu") return x > 0 ? x : alpha * x;
    if (op == "Elu") return x > 0 ? x : alpha * (std::exp(x) - 1);
    ADD_FAILURE() << op;
    return 0;
  }

  std::map<std::string, OnnxArray> values_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_TESTS_UNIT_CLI_ONNX_EVALUATE_GRAPH_H_
