// Batch normalization of hidden layers, while training and while scoring.
#include "capstan/model/batch_norm.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "model_fixture.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

v1::JobSpec Normalizing(const std::string& preset,
                        v1::Activation activation = v1::ACTIVATION_UNSPECIFIED) {
  v1::JobSpec spec = SpecOf(preset, 4, 3);
  spec.mutable_model()->set_batch_norm(true);
  spec.mutable_model()->set_activation(activation);
  EXPECT_EQ(LayOutModel(spec), absl::OkStatus());
  return spec;
}

// One column of two rows, by hand.
TEST(BatchNormTest, AColumnIsBroughtToMeanZeroAndVarianceOneScaledAndShifted) {
  const float scale = 2, shift = 10, mean = 1, variance = 4;
  const BatchNorm::Parameters parameters{&scale, &shift, &mean, &variance};
  std::vector<float> x = {3, 7}, y(2);
  BatchNorm norm;
  norm.TrainForward(parameters, Const(MatrixAt(x.data(), 2, 1)), MatrixAt(y.data(), 2, 1));
  EXPECT_THAT(y, Pointwise(FloatNear(1e-4f), {8.0f, 12.0f}));
  norm.Score(parameters, Const(MatrixAt(x.data(), 2, 1)), MatrixAt(y.data(), 2, 1));
  EXPECT_THAT(y, Pointwise(FloatNear(1e-4f), {12.0f, 16.0f}))
      << "(3 - 1) / 2 * 2 + 10, by the running ones";
}

TEST(BatchNormTest, RunningOnesMoveATenthOfTheWayToThoseOfTheBatch) {
  const float scale = 1, shift = 0, mean = 1, variance = 4;
  const BatchNorm::Parameters parameters{&scale, &shift, &mean, &variance};
  std::vector<float> x = {3, 7};
  BatchNorm norm;
  norm.TrainForward(parameters, Const(MatrixAt(x.data(), 2, 1)), MatrixAt(x.data(), 2, 1));
  std::vector<float> gradient = {1, 1};
  float d_scale, d_shift, d_mean, d_variance;
  norm.Backward(parameters, MatrixAt(gradient.data(), 2, 1),
                {&d_scale, &d_shift, &d_mean, &d_variance});
  EXPECT_FLOAT_EQ(d_mean, -0.4f) << "from 1 to 1.4: the batch's is 5";
  EXPECT_FLOAT_EQ(d_variance, -0.4f) << "from 4 to 4.4: the batch's is 8, of one degree of freedom";
  EXPECT_FLOAT_EQ(d_shift, 2);
  EXPECT_THAT(gradient, Pointwise(FloatNear(1e-6f), {0.0f, 0.0f}))
      << "what is added to all rows changes nothing";
}

// Of a weighted sum of all it gives, by central differences.
TEST(BatchNormTest, TheGradientOfAnElementIsThatThroughMeanAndVarianceToo) {
  constexpr Eigen::Index kRows = 5, kColumns = 2;
  const RandomBatch random(SpecOf("", 0, 0), 0, 7);
  std::vector<float> x = random.Floats(1, kRows * kColumns);
  const std::vector<float> factors = random.Floats(2, kRows * kColumns);
  const std::vector<float> scale = {1.5f, -0.5f}, shift = {0.1f, 2}, mean(2), variance(2, 1);
  const BatchNorm::Parameters parameters{scale.data(), shift.data(), mean.data(), variance.data()};
  BatchNorm norm;
  std::vector<float> y(x.size());
  const auto value = [&] {
    norm.TrainForward(parameters, Const(MatrixAt(x.data(), kRows, kColumns)),
                      MatrixAt(y.data(), kRows, kColumns));
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += double{factors[i]} * y[i];
    return sum;
  };
  value();
  std::vector<float> gradient = factors;
  float of_parameters[4][kColumns];
  norm.Backward(parameters, MatrixAt(gradient.data(), kRows, kColumns),
                {of_parameters[0], of_parameters[1], of_parameters[2], of_parameters[3]});
  for (size_t i = 0; i < x.size(); ++i) {
    constexpr float kStep = 0x1p-8f;
    const float at = std::exchange(x[i], x[i] + kStep);
    const double up = value();
    x[i] = at - kStep;
    EXPECT_NEAR(gradient[i], (up - value()) / (2 * kStep), 2e-3) << i;
    x[i] = at;
  }
}

TEST(BatchNormTest, ABatchOfOneRowHasNoVarianceAndOneOfNoneChangesNothing) {
  const float scale = 3, shift = 2, mean = 1, variance = 4;
  const BatchNorm::Parameters parameters{&scale, &shift, &mean, &variance};
  std::vector<float> x = {6}, gradient = {5};
  BatchNorm norm;
  for (const Eigen::Index rows : {1, 0}) {
    norm.TrainForward(parameters, Const(MatrixAt(x.data(), rows, 1)), MatrixAt(x.data(), rows, 1));
    float d_scale, d_shift, d_mean, d_variance;
    norm.Backward(parameters, MatrixAt(gradient.data(), rows, 1),
                  {&d_scale, &d_shift, &d_mean, &d_variance});
    EXPECT_FLOAT_EQ(d_mean, rows == 1 ? -0.5f : 0);
    EXPECT_EQ(d_variance, 0);
    EXPECT_EQ(d_shift, rows == 1 ? 5 : 0);
    EXPECT_THAT(x, ElementsAre(2));
    EXPECT_THAT(gradient, ElementsAre(0));
  }
}

TEST(BatchNormTest, ItsTensorsBeginAsOnesThatChangeNothing) {
  const v1::JobSpec spec = Normalizing("mlp");
  std::vector<std::string> names;
  std::vector<float> begin;
  for (const v1::TensorSpec& tensor : spec.tensors()) {
    names.push_back(tensor.name());
    begin.push_back(tensor.initializer().scale());
    const bool running = tensor.role() == v1::TENSOR_ROLE_RUNNING;
    EXPECT_EQ(running,
              tensor.name().starts_with("mlp/mean_") || tensor.name().starts_with("mlp/variance_"));
    EXPECT_EQ(running, tensor.optimizer().kind() == v1::OPTIMIZER_KIND_RUNNING);
  }
  EXPECT_THAT(names, ElementsAre("mlp/weights_0", "mlp/bias_0", "mlp/scale_0", "mlp/mean_0",
                                 "mlp/variance_0", "mlp/weights_1", "mlp/bias_1", "mlp/scale_1",
                                 "mlp/mean_1", "mlp/variance_1", "mlp/weights_2", "mlp/bias_2"));
  for (const size_t place : {2, 4, 7, 9}) EXPECT_EQ(begin[place], 1) << names[place];
  for (const size_t place : {1, 3, 6, 8}) EXPECT_EQ(begin[place], 0) << names[place];
}

TEST(BatchNormTest, GradientsAreThoseOfTheBatchAsItWasNormalized) {
  for (const auto activation : {v1::ACTIVATION_UNSPECIFIED, v1::ACTIVATION_GELU}) {
    for (const char* preset : {"deepfm", "dlrm"}) {
      v1::JobSpec spec = Normalizing(preset, activation);
      for (v1::TowerSpec& tower : *spec.mutable_model()->mutable_towers()) tower.set_dropout(0.2f);
      const auto network = NetworkOf(spec);
      RandomBatch batch(spec, 12, 5);
      EXPECT_FALSE(network->ForwardBackward(batch.Input()).running.empty());
      EXPECT_LE(CountWrongGradients(*network, batch, /*draw=*/0, 4e-3), 2)
          << preset << " " << activation;
    }
  }
}

TEST(BatchNormTest, ARecordScoresTheSameInWhateverCompanyItIs) {
  const v1::JobSpec spec = Normalizing("mlp");
  const auto network = NetworkOf(spec);
  const RandomBatch batch(spec, 9, 3);
  const std::vector<float> together = Copy(network->Forward(batch.Input()));
  EXPECT_NE(Copy(network->ForwardBackward(batch.Input()).logits), together);
  for (size_t i = 0; i < together.size(); ++i) {
    NetworkInput one = batch.Input();
    const std::vector<uint32_t> offsets = {0, batch.offsets[i + 1] - batch.offsets[i]};
    one.offsets = offsets;
    one.index = one.index.subspan(batch.offsets[i], offsets[1]);
    one.dense = one.dense.subspan(3 * i, 3);
    EXPECT_FLOAT_EQ(network->Forward(one)[0], together[i]) << i;
  }
}

// Each thread takes the mean of its own slice.
TEST(BatchNormTest, RunningOnesMoveToTheMeanOfTheSlicesAlsoWhereGradientsAreSummed) {
  for (const bool sum_loss : {false, true}) {
    v1::JobSpec spec = Normalizing("mlp");
    spec.mutable_train()->set_sum_loss(sum_loss);
    const RandomBatch batch(spec, 37, 3);
    const auto alone = NetworkOf(spec), together = NetworkOf(spec, 3);
    const NetworkGradients want = alone->ForwardBackward(batch.Input());
    const NetworkGradients got = together->ForwardBackward(batch.Input());
    ASSERT_EQ(got.running.size(), 4u);
    const ParameterRange mean = got.running[0];  // Of the first layer: linear in its input.
    for (size_t i = mean.begin; i < mean.begin + mean.count; ++i) {
      EXPECT_NEAR(got.parameters[i], want.parameters[i], 1e-5) << sum_loss << " " << i;
    }
  }
}

}  // namespace
}  // namespace capstan
