#include "cli/onnx/onnx_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/model/layout.h"
#include "tests/unit/model/model_fixture.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// The inputs of a job, and what is added to the graph when they are read.
struct InputsOfJob {
  explicit InputsOfJob(v1::JobSpec spec) : job(std::move(spec)) {
    EXPECT_EQ(LayOutModel(job), absl::OkStatus());
    inputs.emplace(job, graph);
  }

  std::vector<std::string> Names() {
    std::vector<std::string> names;
    made = graph.Take();
    for (const auto& input : made.input()) names.push_back(input.name());
    return names;
  }
  std::vector<std::string> Operators() const {
    std::vector<std::string> operators;
    for (const auto& node : made.node()) operators.push_back(node.op_type());
    return operators;
  }

  v1::JobSpec job;
  const std::map<std::string, StoredArray> arrays = {};
  OnnxGraph graph{"file", arrays};
  std::optional<OnnxInputs> inputs;
  onnx::GraphProto made;
};

TEST(OnnxInputsTest, AnInputIsAddedWhenItIsFirstReadAndOnce) {
  InputsOfJob of(SpecOf("deepfm", 4, 2));
  EXPECT_EQ(of.inputs->Embedding(), of.inputs->Embedding());
  EXPECT_EQ(of.inputs->Dense(), of.inputs->Dense());
  EXPECT_EQ(of.inputs->Features(), of.inputs->Features());
  EXPECT_TRUE(of.inputs->has_linear());
  EXPECT_THAT(of.Names(), UnorderedElementsAre("embedding", "numbers")) << "nobody read linear";
  EXPECT_THAT(of.Operators(), ElementsAre("Reshape", "Concat"));
}

TEST(OnnxInputsTest, WhatNobodyReadsIsNotAsked) {
  InputsOfJob of(SpecOf("deepfm", 4, 2));
  EXPECT_THAT(of.Names(), IsEmpty());
}

TEST(OnnxInputsTest, BothSegmentsAreMultipliedByTheSameValues) {
  v1::JobSpec job = SpecOf("fm", 0, 0);
  job.mutable_data()->set_format(v1::DATA_FORMAT_LIBFM);
  InputsOfJob of(job);
  of.inputs->Linear();
  of.inputs->Embedding();
  EXPECT_THAT(of.Names(), UnorderedElementsAre("linear", "embedding", "values"));
  EXPECT_THAT(of.Operators(), ElementsAre("Unsqueeze", "Mul", "Mul"));
}

TEST(OnnxInputsTest, RowsWithoutALinearSegmentAreKnownAsThat) {
  EXPECT_FALSE(InputsOfJob(SpecOf("mlp", 4, 2)).inputs->has_linear());
  EXPECT_FALSE(InputsOfJob(SpecOf("mlp", 0, 2)).inputs->has_linear()) << "there is no table";
}

TEST(OnnxInputsTest, OfRecordsWithoutKeysTheFeaturesAreTheNumbers) {
  InputsOfJob of(SpecOf("mlp", 0, 3));
  EXPECT_EQ(of.inputs->Features(), "numbers");
  EXPECT_THAT(of.Names(), ElementsAre("numbers"));
  EXPECT_THAT(of.Operators(), IsEmpty());
}

TEST(OnnxInputsTest, FeaturesOfDifferentLengthsAreGivenSideBySide) {
  InputsOfJob of(SpecOfFeatures("wide_deep", 2, 2, 4));
  of.inputs->Features();
  EXPECT_THAT(of.Names(), UnorderedElementsAre("embeddings", "numbers"));
  EXPECT_THAT(of.Operators(), ElementsAre("Concat"));
}

}  // namespace
}  // namespace capstan::cli
