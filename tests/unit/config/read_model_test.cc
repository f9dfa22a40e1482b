// model: presets, towers and their layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/config/config.h"
#include "tests/unit/config/features_job.h"

namespace capstan {
namespace {

using testing::HasSubstr;

constexpr char kTowers[] = R"(
job: ads
data: {format: csv, train: a.csv, schema: {label: 0, numeric: "1-3"}}
model: {preset: mlp, activation: gelu, dropout: 0.25}
)";

TEST(HiddenLayersTest, HaveAnActivationADropoutAndABatchNorm) {
  const auto job = ParsedJob(kTowers);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->model().activation(), v1::ACTIVATION_GELU);
  EXPECT_EQ(job->model().dropout(), 0.25f);
  EXPECT_FALSE(job->model().batch_norm());
  EXPECT_TRUE(ParsedJob(Replaced(kTowers, "0.25", "0.25, batch_norm: true"))->model().batch_norm());
  const auto own =
      ParsedJob(Replaced(kTowers, "preset: mlp, activation: gelu, dropout: 0.25",
                         "towers: [{kind: mlp, hidden: [4], activation: elu, batch_norm: true}]"));
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->model().towers(0).activation(), v1::ACTIVATION_ELU);
  EXPECT_EQ(own->model().activation(), v1::ACTIVATION_UNSPECIFIED);
  EXPECT_TRUE(own->model().towers(0).batch_norm());
  EXPECT_FALSE(own->model().batch_norm());
}

TEST(HiddenLayersTest, WhatCannotBeIsRefused) {
  const auto refusal = [](const std::string& what, const std::string& by) {
    return std::string(ParsedJob(Replaced(kTowers, what, by)).status().message());
  };
  EXPECT_THAT(refusal("gelu", "gleu"), HasSubstr("did you mean gelu?"));
  EXPECT_THAT(
      refusal("preset: mlp, activation: gelu, dropout: 0.25", "preset: fm, batch_norm: true"),
      HasSubstr("model.batch_norm: is for hidden layers, and this preset has none"));
  EXPECT_THAT(refusal("0.25", "1"), HasSubstr("model.dropout: \"1\" is not a number, at least 0"));
  EXPECT_THAT(refusal("preset: mlp", "preset: lr"),
              HasSubstr("model.activation: is for hidden layers, and this preset has none"));
}

TEST(ReadModelTest, AModelIsAPresetOrTowersOrAProgram) {
  const auto refusal = [](const std::string& by) {
    return std::string(
        ParsedJob(Replaced(kTowers, "preset: mlp, activation: gelu, dropout: 0.25", by))
            .status()
            .message());
  };
  EXPECT_THAT(refusal("embedding_dim: 4"),
              HasSubstr("model.preset: is missing; expected a preset, such as deepfm, or towers"));
  EXPECT_THAT(refusal("preset: mlp, towers: [{kind: mlp}]"),
              HasSubstr("model.towers: cannot stand beside a preset"));
  EXPECT_THAT(refusal("towers: [{hidden: [4]}]"),
              HasSubstr("model.towers[0].kind: is missing; expected a tower, such as mlp"));
}

TEST(ReadModelTest, ATowerHasTheNameOfItsKindAndLayersOfItsOwn) {
  const auto job = ParsedJob(
      Replaced(kTowers, "preset: mlp, activation: gelu, dropout: 0.25",
               "hidden: [9], towers: [{kind: mlp, hidden: [4, 2k]}, {kind: cross, name: c, layers: "
               "3}]"));
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_EQ(job->model().towers_size(), 2);
  EXPECT_EQ(job->model().towers(0).name(), "mlp");
  EXPECT_THAT(job->model().towers(0).hidden(), testing::ElementsAre(4, 2000));
  EXPECT_EQ(job->model().towers(1).name(), "c");
  EXPECT_EQ(job->model().towers(1).layers(), 3u);
  EXPECT_THAT(job->model().towers(1).hidden(), testing::IsEmpty());
  EXPECT_THAT(job->model().hidden(), testing::ElementsAre(9));
}

}  // namespace
}  // namespace capstan
