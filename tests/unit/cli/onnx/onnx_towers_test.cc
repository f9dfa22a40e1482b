// What the graphs of towers compute is what the towers themselves do. Images are left to
// tests/e2e/export_test.py.
#include "cli/onnx/onnx_towers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "capstan/model/layout.h"
#include "capstan/model/tower.h"
#include "tests/unit/cli/onnx/evaluate_graph.h"
#include "tests/unit/model/model_fixture.h"

namespace capstan::cli {
namespace {

constexpr int kExamples = 6;

// The keys of the record that has most of them; at least one, as graphs are given.
int64_t MostKeys(const RandomBatch& batch) {
  int64_t most = 1;
  for (size_t i = 1; i < batch.offsets.size(); ++i) {
    most = std::max<int64_t>(most, batch.offsets[i] - batch.offsets[i - 1]);
  }
  return most;
}

// A segment of the rows of each record's keys, with zeros behind them where a record has fewer.
OnnxArray SegmentOfRows(const v1::JobSpec& job, const RandomBatch& batch, const std::string& name) {
  const v1::TableSpec& table = job.tables(0);
  size_t begin = 0, width = 0;
  for (const v1::TableSegment& segment : table.segments()) {
    if (segment.name() == name) {
      width = segment.width();
      break;
    }
    begin += segment.width();
  }
  const int64_t keys = MostKeys(batch);
  OnnxArray rows = {{kExamples, keys, static_cast<int64_t>(width)}, {}};
  for (int i = 0; i < kExamples; ++i) {
    for (int64_t k = 0; k < keys; ++k) {
      const size_t key = batch.offsets[i] + static_cast<size_t>(k);
      const bool there = key < batch.offsets[i + 1];
      for (size_t d = 0; d < width; ++d) {
        rows.data.push_back(there ? batch.rows[batch.index[key] * table.dim() + begin + d] : 0);
      }
    }
  }
  return rows;
}

OnnxArray ValuesOfKeys(const RandomBatch& batch) {
  const int64_t keys = MostKeys(batch);
  OnnxArray values = {{kExamples, keys}, {}};
  for (int i = 0; i < kExamples; ++i) {
    for (int64_t k = 0; k < keys; ++k) {
      const size_t key = batch.offsets[i] + static_cast<size_t>(k);
      values.data.push_back(key < batch.offsets[i + 1] ? batch.values[key] : 0);
    }
  }
  return values;
}

OnnxArray InputOfGraph(const v1::JobSpec& job, const RandomBatch& batch, const std::string& name) {
  if (name == "values") return ValuesOfKeys(batch);
  if (name != "numbers") return SegmentOfRows(job, batch, name);
  return {{kExamples, static_cast<int64_t>(job.data().dense_width())},
          {batch.dense.begin(), batch.dense.end()}};
}

std::vector<double> LogitsOfGraph(const v1::JobSpec& job, const RandomBatch& batch) {
  std::map<std::string, StoredArray> arrays;
  std::map<std::string, OnnxArray> given;
  auto at = batch.parameters.begin();
  for (const v1::TensorSpec& tensor : job.tensors()) {
    const std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
    arrays[tensor.name()] = {.shape = shape};
    given[tensor.name()] = {shape, {at, at + ElementCount(tensor)}};
    at += ElementCount(tensor);
  }
  OnnxGraph graph("model.safetensors", arrays);
  OnnxInputs inputs(job, graph);
  OnnxGraph::Value sum;
  for (const v1::TowerSpec& tower : job.model().towers()) {
    const OnnxGraph::Value own = AddTower(tower, inputs, graph);
    sum = sum.empty() ? own : graph.Node("Add", {sum, own});
  }
  graph.Output("logits", sum, {"records", int64_t{1}});
  const onnx::GraphProto made = graph.Take();
  for (const auto& input : made.input()) {
    given[input.name()] = InputOfGraph(job, batch, input.name());
  }
  GraphValues values(std::move(given));
  values.Compute(made);
  return Broadcast(values.at("logits"), {kExamples, inputs.shape().outputs}).data;
}

void ExpectTheSameLogits(v1::JobSpec job) {
  ASSERT_EQ(LayOutModel(job), absl::OkStatus());
  const RandomBatch batch(job, kExamples, /*seed=*/7);
  const auto network = NetworkOf(job);
  const std::vector<float> expected = Copy(network->Forward(batch.Input()));
  const std::vector<double> logits = LogitsOfGraph(job, batch);
  ASSERT_EQ(logits.size(), expected.size());
  double largest = 0;
  for (const double logit : logits) largest = std::max(largest, std::abs(logit));
  for (size_t i = 0; i < logits.size(); ++i) {
    EXPECT_NEAR(logits[i], expected[i], 1e-4 + 1e-5 * largest) << i;
  }
}

TEST(OnnxTowersTest, EveryPresetComputesTheSameWithAndWithoutNumbers) {
  for (const char* preset : {"lr", "fm", "mlp", "wide_deep", "deepfm", "dcn_v2", "dlrm"}) {
    for (const uint32_t dense : {0u, 2u}) {
      SCOPED_TRACE(testing::Message() << preset << " " << dense);
      ExpectTheSameLogits(SpecOf(preset, 4, dense));
    }
  }
  ExpectTheSameLogits(SpecOf("mf", 2, 0));
}

TEST(OnnxTowersTest, NumbersAloneAreReadByTheTowersThatReadThem) {
  ExpectTheSameLogits(SpecOf("mlp", 0, 3));
  ExpectTheSameLogits(SpecOf("lr", 0, 3));
}

TEST(OnnxTowersTest, KeysWithValuesAreMultipliedByThemHoweverManyARecordHas) {
  for (const char* preset : {"lr", "fm"}) {
    SCOPED_TRACE(preset);
    v1::JobSpec job = SpecOf(preset, 0, 0);
    job.mutable_data()->set_format(v1::DATA_FORMAT_LIBSVM);
    ExpectTheSameLogits(job);
  }
}

TEST(OnnxTowersTest, EveryActivationIsThatOfTraining) {
  for (int activation = v1::Activation_MIN; activation <= v1::Activation_MAX; ++activation) {
    SCOPED_TRACE(activation);
    v1::JobSpec job = SpecOf("mlp", 4, 2);
    job.mutable_model()->clear_preset();
    v1::TowerSpec& tower = *job.mutable_model()->add_towers();
    tower.set_kind("mlp");
    tower.add_hidden(5);
    tower.add_hidden(4);
    tower.set_activation(static_cast<v1::Activation>(activation));
    ExpectTheSameLogits(job);
  }
}

TEST(OnnxTowersTest, BatchNormUsesTheRunningMeansAlsoWhereAVarianceIsBelowZero) {
  v1::JobSpec job = SpecOf("mlp", 4, 2);
  job.mutable_model()->set_batch_norm(true);
  ExpectTheSameLogits(job);
}

TEST(OnnxTowersTest, SeveralOutputsHaveAColumnEach) {
  for (const char* preset : {"lr", "mlp"}) {
    SCOPED_TRACE(preset);
    v1::JobSpec job = SpecOf(preset, 4, 2);
    job.mutable_model()->set_outputs(3);
    job.mutable_model()->set_loss(v1::LOSS_SOFTMAX);
    ExpectTheSameLogits(job);
  }
}

TEST(OnnxTowersTest, EveryKindOfCapstansOwnHasAForm) {
  for (const std::string& kind : TowerKinds()) {
    v1::TowerSpec spec;
    spec.set_kind(kind);
    EXPECT_TRUE(HasOnnxForm(spec)) << kind;
  }
  v1::TowerSpec other;
  EXPECT_FALSE(HasOnnxForm(other));
  other.set_kind("mine");
  EXPECT_FALSE(HasOnnxForm(other));
}

}  // namespace
}  // namespace capstan::cli
