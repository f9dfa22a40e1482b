// Every preset, and every registered kind of tower by itself, against numerical gradients.
#include <cmath>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <utility>

#include "capstan/model/loss.h"
#include "capstan/model/presets.h"
#include "gmock/gmock.h"
#include "model_fixture.h"

namespace capstan {
namespace {

struct Case {
  std::string name;
  std::function<v1::JobSpec()> spec;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

v1::JobSpec Images(const std::string& preset) {
  v1::JobSpec spec = SpecOf(preset, 0, 7 * 6);
  spec.mutable_data()->set_format(v1::DATA_FORMAT_IDX);
  spec.mutable_data()->add_image_shape(7);
  spec.mutable_data()->add_image_shape(6);
  spec.mutable_model()->set_outputs(3);
  return spec;
}

v1::JobSpec Varying(const std::string& preset) {
  v1::JobSpec spec = SpecOf(preset, 0, 0);
  spec.mutable_data()->set_format(v1::DATA_FORMAT_LIBSVM);
  return spec;
}

v1::JobSpec OneTower(const std::string& kind, v1::JobSpec spec) {
  spec.mutable_model()->clear_preset();
  v1::TowerSpec& tower = *spec.mutable_model()->add_towers();
  tower.set_kind(kind);
  tower.set_layers(2);
  tower.add_hidden(4);
  if (kind == "conv") tower.add_hidden(2);
  return spec;
}

v1::JobSpec Activated(v1::Activation activation, v1::JobSpec spec) {
  spec.mutable_model()->set_activation(activation);
  return spec;
}

v1::JobSpec Smooth(v1::JobSpec spec) { return Activated(v1::ACTIVATION_TANH, std::move(spec)); }

v1::JobSpec SumLoss(v1::JobSpec spec) {
  spec.mutable_train()->set_sum_loss(true);
  return spec;
}

std::vector<Case> Cases() {
  return {
      {"lr", [] { return SpecOf("lr", 4, 0); }},
      {"lr_of_numbers_too", [] { return SpecOf("lr", 4, 3); }},
      {"lr_varying", [] { return Varying("lr"); }},
      {"lr_sum_loss", [] { return SumLoss(SpecOf("lr", 4, 0)); }},
      {"fm", [] { return SpecOf("fm", 4, 0); }},
      {"fm_varying", [] { return Varying("fm"); }},
      {"wide_deep", [] { return SpecOf("wide_deep", 4, 2); }},
      {"deepfm", [] { return SpecOf("deepfm", 4, 0); }},
      {"deepfm_of_numbers_too", [] { return SpecOf("deepfm", 4, 2); }},
      {"dcn_v2", [] { return SpecOf("dcn_v2", 4, 2); }},
      {"dlrm", [] { return SpecOf("dlrm", 4, 5); }},
      {"dlrm_of_keys_only", [] { return SpecOf("dlrm", 4, 0); }},
      {"mf", [] { return SpecOf("mf", 2, 0); }},
      {"deepfm_tanh", [] { return Activated(v1::ACTIVATION_TANH, SpecOf("deepfm", 4, 2)); }},
      {"deepfm_sigmoid", [] { return Activated(v1::ACTIVATION_SIGMOID, SpecOf("deepfm", 4, 2)); }},
      {"deepfm_gelu", [] { return Activated(v1::ACTIVATION_GELU, SpecOf("deepfm", 4, 2)); }},
      {"deepfm_elu", [] { return Activated(v1::ACTIVATION_ELU, SpecOf("deepfm", 4, 2)); }},
      {"dlrm_silu", [] { return Activated(v1::ACTIVATION_SILU, SpecOf("dlrm", 4, 5)); }},
      {"mlp_leaky_relu", [] { return Activated(v1::ACTIVATION_LEAKY_RELU, Images("mlp")); }},
      {"mlp", [] { return Images("mlp"); }},
      {"softmax", [] { return Images("softmax"); }},
      {"cnn",
       [] {
         v1::JobSpec spec = Images("cnn");
         EXPECT_EQ(LayOutModel(spec), absl::OkStatus());
         spec.mutable_model()->mutable_towers(0)->clear_hidden();  // Few channels: few kinks.
         spec.mutable_model()->mutable_towers(0)->add_hidden(3);
         spec.mutable_model()->mutable_towers(0)->add_hidden(2);
         return spec;
       }},
      {"lr_of_features", [] { return SpecOfFeatures("lr", 2, 0, 0); }},
      {"fm_of_features", [] { return SpecOfFeatures("fm", 0, 3, 3); }},
      {"wide_deep_of_features_of_two_dims",
       [] { return Smooth(SpecOfFeatures("wide_deep", 2, 2, 4)); }},
      {"deepfm_of_features", [] { return Smooth(SpecOfFeatures("deepfm", 2, 3, 3)); }},
      {"dcn_v2_of_features_of_two_dims", [] { return Smooth(SpecOfFeatures("dcn_v2", 2, 4, 1)); }},
      {"dlrm_of_features", [] { return Smooth(SpecOfFeatures("dlrm", 5, 4, 4)); }},
      {"linear_tower_of_classes_over_features",
       [] {
         v1::JobSpec spec = OneTower("linear", SpecOfFeatures("", 0, 0, 0));
         spec.mutable_model()->set_outputs(3);
         return spec;
       }},
      {"tower_of_ones_own_over_features",
       [] { return OneTower("field_weighted_fm", SpecOfFeatures("", 0, 2, 2)); }},
      {"bias_tower", [] { return OneTower("bias", SpecOf("", 4, 2)); }},
      {"linear_tower_of_classes_over_keys",
       [] {
         v1::JobSpec spec = OneTower("linear", Varying(""));
         spec.mutable_model()->set_outputs(3);
         return spec;
       }},
      {"fm_tower", [] { return OneTower("fm", SpecOf("", 4, 2)); }},
      {"mlp_tower", [] { return OneTower("mlp", SpecOf("", 4, 2)); }},
      {"cross_tower", [] { return OneTower("cross", SpecOf("", 4, 2)); }},
      {"dot_tower", [] { return OneTower("dot", SpecOf("", 4, 2)); }},
      {"conv_tower", [] { return OneTower("conv", Images("")); }},
      {"example_of_a_tower_of_ones_own",
       [] { return OneTower("field_weighted_fm", SpecOf("", 4, 2)); }},
  };
}

class GradientTest : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Models, GradientTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

// The mean, or sum, of the loss.
double Objective(Network& network, const v1::JobSpec& spec, const RandomBatch& batch) {
  const double sum = LossSum(
      {spec.model().loss(), network.outputs(), network.Forward(batch.Input()), batch.labels});
  return spec.train().sum_loss() ? sum : sum / static_cast<double>(batch.labels.size());
}

// Central differences; where the step crosses a kink (ReLU, maximum) a smaller one is tried.
void ExpectGradient(std::span<const float> gradient, std::vector<float>& variables,
                    const std::function<double()>& objective, const std::string& name) {
  ASSERT_EQ(gradient.size(), variables.size());
  for (size_t i = 0; i < variables.size(); ++i) {
    const float at = variables[i];
    double error = 0, numeric = 0;
    for (const float h : {0x1p-7f, 0x1p-9f, 0x1p-11f}) {
      variables[i] = at + h;
      const double up = objective();
      variables[i] = at - h;
      numeric = (up - objective()) / (2 * h);
      variables[i] = at;
      error = std::abs(gradient[i] - numeric) / std::max(1.0, std::abs(numeric));
      if (error < 1e-3) break;
    }
    EXPECT_LT(error, 1e-3) << name << "[" << i << "]: " << gradient[i] << ", numerically "
                           << numeric;
  }
}

TEST_P(GradientTest, AgreesWithNumericalGradients) {
  v1::JobSpec spec = GetParam().spec();
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  const auto network = Network::Create(spec);
  ASSERT_TRUE(network.ok()) << network.status();
  // Images have thousands of kinks, one of which would lie within the step if there were more of
  // them.
  const int examples = spec.data().image_shape().empty() ? 6 : 2;
  RandomBatch batch(spec, examples, /*seed=*/11);

  const NetworkGradients result = (*network)->ForwardBackward(batch.Input());
  const std::vector<float> rows(result.rows.begin(), result.rows.end());
  const std::vector<float> parameters(result.parameters.begin(), result.parameters.end());
  const double loss_sum = result.loss_sum;

  const double objective = Objective(**network, spec, batch);
  EXPECT_NEAR(objective, spec.train().sum_loss() ? loss_sum : loss_sum / examples, 1e-9);
  const auto compute = [&] { return Objective(**network, spec, batch); };
  ExpectGradient(rows, batch.rows, compute, "rows");
  ExpectGradient(parameters, batch.parameters, compute, "parameters");
}

TEST(GradientTest, CoversEveryPresetAndEveryKindOfTower) {
  std::set<std::string> presets, kinds;
  for (const Case& c : Cases()) {
    v1::JobSpec spec = c.spec();
    ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
    if (!spec.model().preset().empty()) presets.insert(spec.model().preset());
    for (const v1::TowerSpec& tower : spec.model().towers()) kinds.insert(tower.kind());
  }
  EXPECT_THAT(PresetNames(), testing::UnorderedElementsAreArray(presets));
  EXPECT_THAT(TowerKinds(), testing::UnorderedElementsAreArray(kinds));
}

}  // namespace
}  // namespace capstan
