#include "cli/onnx/onnx_graph.h"

#include "absl/strings/str_cat.h"

namespace capstan::cli {
namespace {

void Set(const std::variant<int64_t, std::vector<int64_t>, float>& value,
         onnx::AttributeProto& attribute) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(*number);
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Add(numbers->begin(), numbers->end());
  } else {
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(std::get<float>(value));
  }
}

void AddEntry(const std::string& key, const std::string& value, onnx::TensorProto& tensor) {
  onnx::StringStringEntryProto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

}  // namespace

void OnnxGraph::Describe(const std::string& name, const std::vector<Extent>& shape,
                         onnx::ValueInfoProto& value) {
  value.set_name(name);
  onnx::TypeProto::Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  for (const Extent& extent : shape) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (const auto* number = std::get_if<int64_t>(&extent)) {
      dim.set_dim_value(*number);
    } else {
      dim.set_dim_param(std::get<std::string>(extent));
    }
  }
}

OnnxGraph::Value OnnxGraph::NewName(const std::string& kind) {
  return absl::StrCat(kind, "_", ++named_);
}

OnnxGraph::Value OnnxGraph::Input(const std::string& name, const std::vector<Extent>& shape) {
  Describe(name, shape, *graph_.add_input());
  return name;
}

OnnxGraph::Value OnnxGraph::Parameter(const std::string& name) {
  if (!parameters_.insert(name).second) return name;
  const StoredArray& array = arrays_.at(name);
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.mutable_dims()->Add(array.shape.begin(), array.shape.end());
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  AddEntry("location", file_, tensor);
  AddEntry("offset", absl::StrCat(array.offset), tensor);
  AddEntry("length", absl::StrCat(array.bytes), tensor);
  return name;
}

OnnxGraph::Value OnnxGraph::Constant(float value) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(NewName("constant"));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(value);
  return tensor.name();
}

OnnxGraph::Value OnnxGraph::Constant(const std::vector<int64_t>& values) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(NewName("constant"));
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  tensor.mutable_int64_data()->Add(values.begin(), values.end());
  return tensor.name();
}

OnnxGraph::Value OnnxGraph::Node(const char* op, const std::vector<Value>& inputs,
                                 std::initializer_list<Attribute> attributes) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type(op);
  node.set_name(NewName(op));
  for (const Value& input : inputs) node.add_input(input);
  node.add_output(node.name());
  for (const auto& [name, value] : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    Set(value, attribute);
  }
  return node.name();
}

void OnnxGraph::Output(const std::string& name, const Value& value,
                       const std::vector<Extent>& shape) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type("Identity");
  node.set_name(NewName("Identity"));
  node.add_input(value);
  node.add_output(name);
  Describe(name, shape, *graph_.add_output());
}

}  // namespace capstan::cli
