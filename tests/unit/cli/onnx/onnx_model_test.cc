// Graphs of ONNX are what ONNX's own checker takes for one, with the inputs that docs/export.md
// names. What they compute is compared with `capstan predict` in tests/e2e/export_test.py.
#include "cli/onnx/onnx_model.h"

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/model/layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/model/model_fixture.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

v1::JobSpec LaidOut(v1::JobSpec spec) {
  spec.set_job("ctr");
  const absl::Status status = LayOutModel(spec);
  EXPECT_TRUE(status.ok()) << status;
  return spec;
}

v1::JobSpec Images() {
  v1::JobSpec spec = SpecOf("cnn", 0, 9 * 7);
  spec.mutable_data()->set_format(v1::DATA_FORMAT_IDX);
  spec.mutable_data()->add_image_shape(9);
  spec.mutable_data()->add_image_shape(7);
  spec.mutable_model()->set_outputs(4);
  spec.mutable_model()->set_batch_norm(true);
  return spec;
}

// The job's tensors one behind the other, as in a file.
std::map<std::string, StoredArray> ArraysOf(const v1::JobSpec& job) {
  std::map<std::string, StoredArray> arrays;
  uint64_t at = 64;
  for (const v1::TensorSpec& tensor : job.tensors()) {
    const uint64_t bytes = static_cast<uint64_t>(ElementCount(tensor)) * sizeof(float);
    arrays[tensor.name()] = {{tensor.shape().begin(), tensor.shape().end()}, at, bytes};
    at += bytes;
  }
  return arrays;
}

std::string ShapeText(const onnx::ValueInfoProto& value) {
  std::vector<std::string> extents;
  for (const auto& dim : value.type().tensor_type().shape().dim()) {
    extents.push_back(dim.has_dim_param() ? dim.dim_param() : absl::StrCat(dim.dim_value()));
  }
  return absl::StrCat(value.name(), " [", absl::StrJoin(extents, ", "), "]");
}

std::vector<std::string> InputsOf(const onnx::ModelProto& model) {
  std::vector<std::string> inputs;
  for (const auto& input : model.graph().input()) inputs.push_back(ShapeText(input));
  return inputs;
}

class OnnxModelTest : public testing::Test {
 protected:
  // The graph of the job, once the checker has taken it, and the file of parameters that it names,
  // and all shapes are known to agree.
  onnx::ModelProto Checked(const v1::JobSpec& job) {
    onnx::ModelProto model;
    EXPECT_EQ(CheckForOnnx(job), absl::OkStatus());
    const std::string graph = OnnxModel(job, "model.safetensors", ArraysOf(job));
    EXPECT_TRUE(model.ParseFromString(graph));
    std::ofstream(folder_ + "/model.onnx") << graph;
    std::ofstream(folder_ + "/model.safetensors") << "parameters";
    EXPECT_NO_THROW(onnx::checker::check_model(folder_ + "/model.onnx"));
    onnx::ModelProto inferred = model;
    inferred.mutable_graph()->clear_output();
    inferred.mutable_graph()->add_output()->set_name("score");
    const onnx::ShapeInferenceOptions strict(/*check_type=*/true, /*strict_mode=*/1);
    EXPECT_NO_THROW(
        onnx::shape_inference::InferShapes(inferred, onnx::OpSchemaRegistry::Instance(), strict));
    const auto& shape = inferred.graph().output(0).type().tensor_type().shape();
    EXPECT_EQ(shape.dim_size(), 2);
    EXPECT_EQ(shape.dim(1).dim_value(), ShapeOf(job).outputs);
    return model;
  }

  const TestFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(OnnxModelTest, EveryPresetIsAGraphThatTheCheckerTakes) {
  for (const char* preset : {"lr", "fm", "mlp", "wide_deep", "deepfm", "dcn_v2", "dlrm"}) {
    SCOPED_TRACE(preset);
    Checked(LaidOut(SpecOf(preset, 4, 2)));
    Checked(LaidOut(SpecOf(preset, 4, 0)));
  }
  Checked(LaidOut(SpecOf("mf", 2, 0)));
  Checked(LaidOut(Images()));
}

TEST_F(OnnxModelTest, ASigmoidIsOfLogisticLabelsAlone) {
  v1::JobSpec job = SpecOf("mlp", 4, 2);
  for (const v1::Loss loss : {v1::LOSS_SQUARED, v1::LOSS_LOGISTIC, v1::LOSS_SQUARED}) {
    job.mutable_data()->add_labels()->set_loss(loss);
  }
  const auto count_sigmoids = [this](const v1::JobSpec& of) {
    const onnx::ModelProto model = Checked(LaidOut(of));
    return std::count_if(model.graph().node().begin(), model.graph().node().end(),
                         [](const onnx::NodeProto& node) { return node.op_type() == "Sigmoid"; });
  };
  EXPECT_EQ(count_sigmoids(job), 1) << "of the second label";
  job.mutable_data()->mutable_labels(1)->set_loss(v1::LOSS_SQUARED);
  EXPECT_EQ(count_sigmoids(job), 0);
  for (v1::LabelSpec& label : *job.mutable_data()->mutable_labels()) label.clear_loss();
  EXPECT_EQ(count_sigmoids(job), 1) << "of all at once";
}

TEST_F(OnnxModelTest, InputsAreWhatTheTowersRead) {
  EXPECT_THAT(InputsOf(Checked(LaidOut(SpecOf("deepfm", 4, 2)))),
              UnorderedElementsAre("linear [records, 4, 1]", "embedding [records, 4, 3]",
                                   "numbers [records, 2]"));
  EXPECT_THAT(InputsOf(Checked(LaidOut(SpecOf("lr", 4, 0)))),
              ElementsAre("linear [records, 4, 1]"));
  EXPECT_THAT(InputsOf(Checked(LaidOut(Images()))), ElementsAre("numbers [records, 63]"));
  v1::JobSpec pairs = SpecOf("fm", 0, 0);
  pairs.mutable_data()->set_format(v1::DATA_FORMAT_LIBSVM);
  EXPECT_THAT(InputsOf(Checked(LaidOut(pairs))),
              UnorderedElementsAre("linear [records, keys, 1]", "embedding [records, keys, 3]",
                                   "values [records, keys]"));
}

TEST_F(OnnxModelTest, FeaturesAreKeysWhoseRowsAreThePooledOnes) {
  EXPECT_THAT(InputsOf(Checked(LaidOut(SpecOfFeatures("deepfm", 2, 3, 3)))),
              UnorderedElementsAre("linear [records, 4, 1]", "embedding [records, 4, 3]",
                                   "numbers [records, 2]"));
  EXPECT_THAT(InputsOf(Checked(LaidOut(SpecOfFeatures("wide_deep", 0, 2, 4)))),
              UnorderedElementsAre("linear [records, 4, 1]", "embeddings [records, 14]"));
  EXPECT_THAT(InputsOf(Checked(LaidOut(SpecOfFeatures("lr", 0, 0, 0)))),
              ElementsAre("linear [records, 4, 1]"));
  Checked(LaidOut(SpecOfFeatures("dlrm", 2, 3, 3)));
}

TEST_F(OnnxModelTest, ParametersStayInTheFileBeside) {
  const v1::JobSpec job = LaidOut(SpecOf("mlp", 4, 2));
  const onnx::ModelProto model = Checked(job);
  std::map<std::string, StoredArray> arrays = ArraysOf(job);
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
    ASSERT_EQ(tensor.external_data_size(), 3);
    EXPECT_EQ(tensor.external_data(0).value(), "model.safetensors");
    EXPECT_EQ(tensor.external_data(1).value(), absl::StrCat(arrays.at(tensor.name()).offset));
    EXPECT_EQ(tensor.external_data(2).value(), absl::StrCat(arrays.at(tensor.name()).bytes));
    arrays.erase(tensor.name());
  }
  EXPECT_TRUE(arrays.empty()) << "each is in the graph, once";
}

TEST_F(OnnxModelTest, NumbersThatNoTowerReadsAreNoInput) {
  v1::JobSpec job = SpecOf("fm", 4, 2);
  job.mutable_model()->clear_preset();
  job.mutable_model()->add_towers()->set_kind("fm");
  EXPECT_THAT(InputsOf(Checked(LaidOut(job))), ElementsAre("embedding [records, 4, 3]"));
}

TEST_F(OnnxModelTest, WhatHasNoGraphIsRefused) {
  const auto refusal = [](const v1::JobSpec& job) {
    return std::string(CheckForOnnx(job).message());
  };
  v1::JobSpec job = LaidOut(SpecOf("lr", 4, 0));
  v1::JobSpec linked = job;
  linked.mutable_model()->mutable_towers(0)->set_kind("mine");
  EXPECT_THAT(refusal(linked), HasSubstr("the kind mine has no form in ONNX"));
  v1::JobSpec constant = SpecOf("lr", 4, 0);
  constant.mutable_model()->clear_preset();
  constant.mutable_model()->add_towers()->set_kind("bias");
  EXPECT_THAT(refusal(LaidOut(constant)), HasSubstr("reads nothing of a record"));
  v1::JobSpec broken = LaidOut(SpecOf("dcn_v2", 4, 2));
  broken.mutable_model()->mutable_towers(0)->set_layers(9);
  EXPECT_NE(CheckForOnnx(broken), absl::OkStatus());
  job.mutable_model()->set_user("deepfm.py");
  EXPECT_THAT(refusal(job), HasSubstr("the model is the program deepfm.py"));
}

}  // namespace
}  // namespace capstan::cli
