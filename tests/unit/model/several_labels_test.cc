// Models of several labels, each of which has an output and a loss of its own.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "capstan/model/loss.h"
#include "capstan/model/metrics.h"
#include "model_fixture.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

v1::JobSpec TwoLabels(const std::string& preset) {
  v1::JobSpec spec = SpecOf(preset, 4, 2);
  for (const auto& [name, weight] : {std::pair("click", 1.0f), std::pair("buy", 0.25f)}) {
    v1::LabelSpec& label = *spec.mutable_data()->add_labels();
    label.set_name(name);
    label.set_weight(weight);
  }
  return spec;
}

// The labels that RandomBatch has, and others beside them.
std::vector<float> WithOthers(const std::vector<float>& labels) {
  std::vector<float> both;
  for (size_t i = 0; i < labels.size(); ++i) {
    both.push_back(labels[i]);
    both.push_back(i % 3 == 0 ? 1.0f : 0.0f);
  }
  return both;
}

TEST(SeveralLabelsTest, TheModelHasAnOutputForEachAndStaysSoWhenItIsLaidOutAgain) {
  for (const char* preset : {"lr", "wide_deep", "dcn_v2", "dlrm", "mlp"}) {
    v1::JobSpec spec = TwoLabels(preset);
    for (int times = 0; times < 2; ++times) {
      ASSERT_EQ(LayOutModel(spec), absl::OkStatus()) << preset;
      EXPECT_EQ(spec.model().outputs(), 2u) << preset;
      EXPECT_EQ(spec.model().loss(), v1::LOSS_LOGISTIC) << preset;
    }
  }
  v1::JobSpec fm = TwoLabels("deepfm");
  EXPECT_THAT(std::string(LayOutModel(fm).message()), HasSubstr("one output, the model has 2"));
}

TEST(SeveralLabelsTest, TheLossIsTheSumOfTheLabelsLossesByTheirWeights) {
  const std::vector<float> logits = {0.5f, -1, 2, 0.25f}, labels = {1, 0, 0, 1};
  const std::vector<float> weights = {3, 0.5f}, label_weights = {1, 0.25f};
  for (const v1::Loss loss : {v1::LOSS_LOGISTIC, v1::LOSS_SQUARED}) {
    std::vector<float> gradient(4), of_one(2);
    const double sum = LossSumAndGradient({.loss = loss,
                                           .outputs = 2,
                                           .logits = logits,
                                           .labels = labels,
                                           .weights = weights,
                                           .label_weights = label_weights},
                                          0.5f, gradient);
    double expected = 0;
    for (size_t k = 0; k < 2; ++k) {
      const std::vector<float> own_logits = {logits[k], logits[2 + k]};
      const std::vector<float> own_labels = {labels[k], labels[2 + k]};
      expected +=
          label_weights[k] *
          LossSumAndGradient(
              {.loss = loss, .logits = own_logits, .labels = own_labels, .weights = weights}, 0.5f,
              of_one);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_FLOAT_EQ(gradient[2 * i + k], label_weights[k] * of_one[i]);
      }
    }
    EXPECT_NEAR(sum, expected, 1e-12);
  }
}

TEST(SeveralLabelsTest, AnExampleThatLacksALabelSaysNothingOfThatOutput) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits = {0.5f, -1, 2, 0.25f}, labels = {1, none, 0, 1};
  const std::vector<float> label_weights = {1, 0.25f};
  for (const v1::Loss loss : {v1::LOSS_LOGISTIC, v1::LOSS_SQUARED}) {
    std::vector<float> gradient(4, 7);
    const double sum = LossSumAndGradient({.loss = loss,
                                           .outputs = 2,
                                           .logits = logits,
                                           .labels = labels,
                                           .label_weights = label_weights},
                                          1, gradient);
    const std::vector<float> clicks = {1, 0}, click_logits = {0.5f, 2}, buy = {1}, buys = {0.25f};
    const double expected = LossSum({.loss = loss, .logits = click_logits, .labels = clicks}) +
                            0.25 * LossSum({.loss = loss, .logits = buys, .labels = buy});
    EXPECT_NEAR(sum, expected, 1e-12);
    EXPECT_EQ(gradient[1], 0);
    EXPECT_NE(gradient[3], 0);
  }
}

TEST(SeveralLabelsTest, ALabelIsMeasuredByTheExamplesThatHaveItAndTheLossIsThatOfAll) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  v1::JobSpec job = TwoLabels("mlp");
  job.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  const std::vector<float> logits = {2, -1, 2, 3, -2, 1, -2, -4};
  const std::vector<float> labels = {1, none, 0, 1, 1, none, 0, 0}, weights = {1, 2, 3, 4};
  for (const bool weighted : {false, true}) {
    v1::EvaluationResult sums = NoEvaluation(job.data());
    const Scores scores = {.loss = v1::LOSS_LOGISTIC,
                           .outputs = 2,
                           .logits = logits,
                           .labels = labels,
                           .weights = weighted ? weights : std::span<const float>(),
                           .label_weights = {}};
    AddToEvaluation(scores, sums);
    EXPECT_EQ(sums.labels(0).examples(), 4u);
    EXPECT_EQ(sums.labels(1).examples(), 2u);
    const std::map<std::string, double> metrics = MetricsOf(job, sums);
    EXPECT_DOUBLE_EQ(metrics.at("buy/auc"), 1) << "of the two that have it";
    EXPECT_EQ(metrics.at("buy/accuracy"), 1);
    const std::vector<float> label_weights = {1, 0.25f};
    Scores trained = scores;
    trained.label_weights = label_weights;
    EXPECT_NEAR(metrics.at("loss"), LossSum(trained) / (weighted ? 10 : 4), 1e-12)
        << "as it is trained";
  }
}

TEST(SeveralLabelsTest, AWorkerThatTellsNoWeightsOfAllMakesTheLossNoGreater) {
  v1::JobSpec job = TwoLabels("mlp");
  job.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  const std::vector<float> logits = {2, -1}, labels = {1, 0}, weights = {3};
  v1::EvaluationResult one = NoEvaluation(job.data());
  AddToEvaluation({.loss = v1::LOSS_LOGISTIC,
                   .outputs = 2,
                   .logits = logits,
                   .labels = labels,
                   .weights = weights},
                  one);
  const double loss = MetricsOf(job, one).at("loss");
  v1::EvaluationResult earlier = one;
  earlier.clear_weighted();
  earlier.clear_weight();
  v1::EvaluationResult both = NoEvaluation(job.data());
  ASSERT_EQ(MergeEvaluation(one, both), absl::OkStatus());
  ASSERT_EQ(MergeEvaluation(earlier, both), absl::OkStatus());
  EXPECT_DOUBLE_EQ(MetricsOf(job, both).at("loss"), loss);
}

TEST(SeveralLabelsTest, TheGradientsAreThoseOfTheLoss) {
  v1::JobSpec spec = TwoLabels("wide_deep");
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  const auto network = *Network::Create(spec);
  RandomBatch batch(spec, 6, 1);
  batch.labels = WithOthers(batch.labels);
  ExpectGradientsOfWeightedLoss(*network, batch, /*examples=*/6);
}

TEST(SeveralLabelsTest, ALabelOfALinearModelIsLearntAsIfItWereTheOnlyOne) {
  v1::JobSpec two = TwoLabels("lr"), one = SpecOf("lr", 4, 2);
  two.mutable_data()->mutable_labels(1)->set_weight(1);
  ASSERT_EQ(LayOutModel(two), absl::OkStatus());
  ASSERT_EQ(LayOutModel(one), absl::OkStatus());
  RandomBatch batch(one, 20, 3);
  const auto single = *Network::Create(one);
  const auto multiple = *Network::Create(two);
  const NetworkGradients expected = single->ForwardBackward(batch.Input());
  const std::vector<float> labels = WithOthers(batch.labels);
  std::vector<float> rows, parameters;
  for (const float weight : batch.rows) rows.insert(rows.end(), {weight, 0.5f});
  for (const float weight : batch.parameters) parameters.insert(parameters.end(), {weight, -0.5f});
  NetworkInput input = batch.Input();
  input.labels = labels;
  input.rows = rows;
  input.parameters = parameters;
  const NetworkGradients found = multiple->ForwardBackward(input);
  for (size_t i = 0; i < batch.rows.size(); ++i) EXPECT_EQ(found.rows[2 * i], expected.rows[i]);
  for (size_t i = 0; i < batch.parameters.size(); ++i) {
    EXPECT_FLOAT_EQ(found.parameters[2 * i], expected.parameters[i]) << i;
  }
}

TEST(SeveralLabelsTest, OnThreadsTheGradientsAreTheSame) {
  v1::JobSpec spec = TwoLabels("mlp");
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  RandomBatch batch(spec, 31, 1);
  batch.labels = WithOthers(batch.labels);
  const auto whole = *Network::Create(spec);
  spec.mutable_train()->set_step_threads(2);
  const auto parallel = *Network::Create(spec);
  const NetworkGradients expected = whole->ForwardBackward(batch.Weighted());
  const NetworkGradients found = parallel->ForwardBackward(batch.Weighted());
  EXPECT_NEAR(found.loss_sum, expected.loss_sum, 1e-5);
  for (size_t i = 0; i < expected.logits.size(); ++i) {
    EXPECT_NEAR(found.logits[i], expected.logits[i], 1e-6);
  }
  for (size_t i = 0; i < expected.parameters.size(); ++i) {
    EXPECT_NEAR(found.parameters[i], expected.parameters[i], 1e-6);
  }
}

// The scores of two labels, and those of each of them.
struct Scored {
  std::vector<float> logits = {-2, 3, -1, -1, 0.5f, 2, 3, -4}, labels = {0, 1, 1, 1, 0, 0, 1, 0};
  std::vector<uint64_t> groups = {1, 2, 2, 1};

  Scores Both() const {
    return {.loss = v1::LOSS_LOGISTIC,
            .outputs = 2,
            .logits = logits,
            .labels = labels,
            .groups = groups};
  }
  std::map<std::string, double> MetricsOfLabel(size_t label) const {
    std::vector<float> own_logits, own_labels;
    for (size_t i = label; i < logits.size(); i += 2) {
      own_logits.push_back(logits[i]);
      own_labels.push_back(labels[i]);
    }
    v1::EvaluationResult sums;
    AddToEvaluation(
        {.loss = v1::LOSS_LOGISTIC, .logits = own_logits, .labels = own_labels, .groups = groups},
        sums);
    return MetricsOf(v1::LOSS_LOGISTIC, sums);
  }
};

TEST(SeveralLabelsTest, EachHasItsMetricsAndTheLossIsThatOfTheExamples) {
  v1::JobSpec job = TwoLabels("mlp");
  job.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  const Scored scored;
  v1::EvaluationResult sums;
  AddToEvaluation(scored.Both(), sums);
  EXPECT_EQ(sums.examples(), 4u);
  v1::EvaluationResult merged = NoEvaluation(job.data());
  ASSERT_TRUE(MergeEvaluation(v1::EvaluationResult(), merged).ok()) << "of a task without records";
  ASSERT_TRUE(MergeEvaluation(sums, merged).ok());
  std::map<std::string, double> metrics = MetricsOf(job, merged);
  const std::map<std::string, double> click = scored.MetricsOfLabel(0),
                                      buy = scored.MetricsOfLabel(1);
  EXPECT_EQ(metrics.at("loss"), click.at("loss") + 0.25 * buy.at("loss"));
  metrics.erase("loss");
  for (const auto& [name, value] : click) {
    if (name == "loss") continue;
    EXPECT_EQ(metrics.at(name), value) << name;
  }
  for (const auto& [name, value] : buy) EXPECT_EQ(metrics.at("buy/" + name), value) << name;
  EXPECT_TRUE(buy.contains("group_auc"));
  EXPECT_EQ(metrics.size(), click.size() - 1 + buy.size());
}

// What comes from the wire may be anything; others' sums must not suffer.
TEST(SeveralLabelsTest, SumsOfOtherLabelsAreRefused) {
  const v1::JobSpec job = TwoLabels("mlp");
  v1::EvaluationResult good;
  AddToEvaluation(Scored().Both(), good);
  v1::EvaluationResult more = good, nested = good, odd = good, none = good;
  more.add_labels();
  nested.mutable_labels(0)->add_labels();
  odd.mutable_labels(1)->mutable_positives()->RemoveLast();
  none.clear_labels();
  v1::EvaluationResult into = NoEvaluation(job.data());
  const std::string before = into.SerializeAsString();
  for (const v1::EvaluationResult* bad : {&more, &nested, &odd, &none}) {
    EXPECT_EQ(MergeEvaluation(*bad, into).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(into.SerializeAsString(), before);
  }
  v1::EvaluationResult of_one_label;
  EXPECT_FALSE(MergeEvaluation(good, of_one_label).ok());
}

}  // namespace
}  // namespace capstan
