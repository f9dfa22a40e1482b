#include "capstan/model/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A model of this preset alone, expanded.
v1::ModelSpec Expanded(const std::string& preset, uint32_t outputs = 0) {
  v1::ModelSpec model;
  model.set_preset(preset);
  model.set_outputs(outputs);
  const absl::Status status = ExpandPreset(model);
  EXPECT_TRUE(status.ok()) << preset << ": " << status;
  return model;
}

std::vector<std::string> KindsOf(const v1::ModelSpec& model) {
  std::vector<std::string> kinds;
  for (const v1::TowerSpec& tower : model.towers()) kinds.push_back(tower.kind());
  return kinds;
}

std::string RefusalOfModel(v1::ModelSpec model) {
  const absl::Status status = ExpandPreset(model);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(ExpandPresetTest, APresetHasItsTowersNamedByTheirKinds) {
  EXPECT_THAT(KindsOf(Expanded("deepfm")), ElementsAre("linear", "fm", "mlp", "bias"));
  EXPECT_THAT(KindsOf(Expanded("dcn_v2")), ElementsAre("cross", "mlp", "bias"));
  const v1::ModelSpec softmax = Expanded("softmax", 10);
  for (const v1::TowerSpec& tower : softmax.towers()) EXPECT_EQ(tower.name(), tower.kind());
}

TEST(ExpandPresetTest, WidthsAreThePresetsWhereTheModelLeavesThemOpen) {
  const v1::ModelSpec open = Expanded("wide_deep");
  EXPECT_THAT(open.hidden(), ElementsAre(400, 400));
  EXPECT_THAT(open.towers(1).hidden(), ElementsAre(400, 400));
  v1::ModelSpec given;
  given.set_preset("wide_deep");
  given.add_hidden(8);
  ASSERT_TRUE(ExpandPreset(given).ok());
  EXPECT_THAT(given.towers(1).hidden(), ElementsAre(8));
  EXPECT_THAT(given.towers(0).hidden(), IsEmpty()) << "linear has no hidden layers";
  const v1::ModelSpec dlrm = Expanded("dlrm");
  EXPECT_THAT(dlrm.towers(0).hidden(), ElementsAre(64)) << "those below its dot products";
  EXPECT_THAT(dlrm.hidden(), ElementsAre(256, 128)) << "those above";
}

TEST(ExpandPresetTest, ACrossTowerHasThreeLayersUnlessTheModelSays) {
  EXPECT_EQ(Expanded("dcn_v2").towers(0).layers(), 3u);
  v1::ModelSpec model;
  model.set_preset("dcn_v2");
  model.set_cross_layers(5);
  ASSERT_TRUE(ExpandPreset(model).ok());
  EXPECT_EQ(model.towers(0).layers(), 5u);
}

TEST(ExpandPresetTest, TheLossIsThePresetsOrThatOfItsOutputs) {
  EXPECT_EQ(Expanded("lr").loss(), v1::LOSS_LOGISTIC);
  EXPECT_EQ(Expanded("mf").loss(), v1::LOSS_SQUARED);
  EXPECT_EQ(Expanded("mlp", 3).loss(), v1::LOSS_SOFTMAX);
  EXPECT_EQ(Expanded("lr").outputs(), 1u);
}

TEST(ExpandPresetTest, HiddenLayersHaveWhatTheModelSaysUnlessTheirTowerDoes) {
  v1::ModelSpec model;
  model.set_activation(v1::ACTIVATION_TANH);
  model.set_dropout(0.25f);
  for (const char* kind : {"mlp", "dot", "linear"}) model.add_towers()->set_kind(kind);
  model.mutable_towers(1)->set_activation(v1::ACTIVATION_GELU);
  model.mutable_towers(1)->set_dropout(0.5f);
  ASSERT_TRUE(ExpandPreset(model).ok());
  EXPECT_EQ(model.towers(0).activation(), v1::ACTIVATION_TANH);
  EXPECT_EQ(model.towers(0).dropout(), 0.25f);
  EXPECT_EQ(model.towers(1).activation(), v1::ACTIVATION_GELU);
  EXPECT_EQ(model.towers(1).dropout(), 0.5f);
  EXPECT_EQ(model.towers(2).activation(), v1::ACTIVATION_UNSPECIFIED);
}

TEST(ExpandPresetTest, WhatIsExpandedStaysAsItIs) {
  for (const std::string& name : PresetNames()) {
    const v1::ModelSpec once = Expanded(name, name == "softmax" ? 4 : 0);
    v1::ModelSpec twice = once;
    ASSERT_TRUE(ExpandPreset(twice).ok());
    EXPECT_EQ(twice.SerializeAsString(), once.SerializeAsString()) << name;
  }
}

TEST(ExpandPresetTest, WhatCannotBeIsRefused) {
  v1::ModelSpec unknown;
  unknown.set_preset("deepfn");
  EXPECT_THAT(RefusalOfModel(unknown), HasSubstr("\"deepfn\" is not one of cnn, dcn_v2, deepfm"));
  EXPECT_THAT(RefusalOfModel({}), HasSubstr("neither a preset nor a tower"));
  v1::ModelSpec twins;
  for (int i = 0; i < 2; ++i) twins.add_towers()->set_kind("mlp");
  EXPECT_THAT(RefusalOfModel(twins), HasSubstr("two are named \"mlp\""));
  v1::ModelSpec classes;
  classes.set_preset("softmax");
  EXPECT_THAT(RefusalOfModel(classes), HasSubstr("at least 2, not 1"));
  classes.set_loss(v1::LOSS_SQUARED);
  classes.set_outputs(2);
  EXPECT_THAT(RefusalOfModel(classes), HasSubstr("2 need the softmax loss"));
}

}  // namespace
}  // namespace capstan
