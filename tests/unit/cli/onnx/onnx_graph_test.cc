#include "cli/onnx/onnx_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace capstan::cli {
namespace {

using testing::ElementsAre;

const std::map<std::string, StoredArray> kStored = {
    {"deep/w", {.shape = {2, 3}, .offset = 4096, .bytes = 24}},
    {"deep/b", {.shape = {3}, .offset = uint64_t{1} << 40, .bytes = 12}}};

TEST(OnnxGraphTest, AParameterIsInTheGraphOnceAndItsNumbersInTheFile) {
  OnnxGraph graph("model.safetensors", kStored);
  EXPECT_TRUE(graph.HasParameter("deep/b"));
  EXPECT_FALSE(graph.HasParameter("deep/c"));
  EXPECT_EQ(graph.Parameter("deep/b"), "deep/b");
  EXPECT_EQ(graph.Parameter("deep/b"), "deep/b");
  const onnx::GraphProto made = graph.Take();
  ASSERT_EQ(made.initializer_size(), 1) << "what nobody reads is left out";
  const onnx::TensorProto& tensor = made.initializer(0);
  EXPECT_THAT(tensor.dims(), ElementsAre(3));
  EXPECT_EQ(tensor.data_location(), onnx::TensorProto::EXTERNAL);
  EXPECT_FALSE(tensor.has_raw_data());
  std::map<std::string, std::string> entries;
  for (const auto& entry : tensor.external_data()) entries[entry.key()] = entry.value();
  EXPECT_EQ(entries,
            (std::map<std::string, std::string>{
                {"location", "model.safetensors"}, {"offset", "1099511627776"}, {"length", "12"}}));
}

TEST(OnnxGraphTest, EachValueHasANameOfItsOwn) {
  OnnxGraph graph("file", kStored);
  const OnnxGraph::Value x = graph.Input("x", {int64_t{2}});
  std::set<std::string> names = {x};
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(names.insert(graph.Node("Add", {x, x})).second);
    EXPECT_TRUE(names.insert(graph.Constant(1.0f)).second);
    EXPECT_TRUE(names.insert(graph.Constant(std::vector<int64_t>{1})).second);
    EXPECT_TRUE(names.insert(graph.Reshaped(x, {-1, 1})).second);
  }
}

TEST(OnnxGraphTest, AnExtentIsANumberOrTheNameOfOne) {
  OnnxGraph graph("file", kStored);
  graph.Output("score", graph.Input("x", {"records", int64_t{4}}), {"records", int64_t{1}});
  const onnx::GraphProto made = graph.Take();
  const auto& shape = made.input(0).type().tensor_type().shape();
  ASSERT_EQ(shape.dim_size(), 2);
  EXPECT_EQ(shape.dim(0).dim_param(), "records");
  EXPECT_FALSE(shape.dim(0).has_dim_value());
  EXPECT_EQ(shape.dim(1).dim_value(), 4);
  EXPECT_EQ(made.input(0).type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
  EXPECT_EQ(made.output(0).name(), "score");
  ASSERT_EQ(made.node_size(), 1);
  EXPECT_THAT(made.node(0).input(), ElementsAre("x"));
  EXPECT_THAT(made.node(0).output(), ElementsAre("score"));
}

TEST(OnnxGraphTest, AttributesAndConstantsKeepTheirTypes) {
  OnnxGraph graph("file", kStored);
  const OnnxGraph::Value x = graph.Input("x", {int64_t{2}});
  graph.Node("Odd", {x},
             {{"axis", int64_t{1}}, {"perm", std::vector<int64_t>{1, 0}}, {"alpha", 0.25f}});
  graph.Constant(0.5f);
  graph.Constant(std::vector<int64_t>{});
  const onnx::GraphProto made = graph.Take();
  const onnx::NodeProto& node = made.node(0);
  ASSERT_EQ(node.attribute_size(), 3);
  EXPECT_EQ(node.attribute(0).type(), onnx::AttributeProto::INT);
  EXPECT_EQ(node.attribute(0).i(), 1);
  EXPECT_EQ(node.attribute(1).type(), onnx::AttributeProto::INTS);
  EXPECT_THAT(node.attribute(1).ints(), ElementsAre(1, 0));
  EXPECT_EQ(node.attribute(2).type(), onnx::AttributeProto::FLOAT);
  EXPECT_EQ(node.attribute(2).f(), 0.25f);
  EXPECT_EQ(made.initializer(0).dims_size(), 0) << "a scalar";
  EXPECT_THAT(made.initializer(0).float_data(), ElementsAre(0.5f));
  EXPECT_THAT(made.initializer(1).dims(), ElementsAre(0)) << "a vector without elements";
  EXPECT_EQ(made.initializer(1).data_type(), onnx::TensorProto::INT64);
}

}  // namespace
}  // namespace capstan::cli
