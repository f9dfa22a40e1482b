#include "capstan/model/tower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace capstan {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string WhyNoTower(const std::string& kind, const ModelShape& shape,
                       const std::vector<uint32_t>& hidden = {}) {
  v1::TowerSpec spec;
  spec.set_name("t");
  spec.set_kind(kind);
  for (const uint32_t width : hidden) spec.add_hidden(width);
  const auto tower = MakeTower(spec, shape);
  EXPECT_EQ(tower.status().code(), absl::StatusCode::kInvalidArgument) << kind;
  return std::string(tower.status().message());
}

TEST(MakeTowerTest, AKindThatNobodyKnowsIsRefusedWithThoseThatThereAre) {
  EXPECT_THAT(WhyNoTower("mpl", {}),
              StartsWith("tower t: kind \"mpl\" is not one of bias, conv, cross, dot, "));
  EXPECT_THAT(WhyNoTower("", {}), StartsWith("tower t: kind \"\" is not one of "));
}

TEST(MakeTowerTest, ATowerOverFeaturesNeedsTheSameNumberOfThemInEveryRecord) {
  for (const char* kind : {"mlp", "cross", "dot"}) {
    EXPECT_THAT(WhyNoTower(kind, {.has_keys = true, .dense_width = 3}),
                StartsWith("tower t: needs the same number of keys in every record"));
    EXPECT_EQ(WhyNoTower(kind, {.fields = 2, .embedding_dim = 0}),
              "tower t: needs model.embedding_dim, at least 1");
    EXPECT_EQ(WhyNoTower(kind, {.has_keys = false}),
              "tower t: the data has neither keys nor numbers");
  }
}

TEST(MakeTowerTest, WhatMultipliesEmbeddingsNeedsTwoOfOneLength) {
  const ModelShape two_dims = {.fields = 2,
                               .pooled = {{.name = "user", .dim = 4}, {.name = "item", .dim = 8}}};
  for (const char* kind : {"fm", "dot"}) {
    EXPECT_THAT(WhyNoTower(kind, two_dims), HasSubstr("user has 4, item has 8; give their tables"));
  }
  EXPECT_EQ(WhyNoTower("dot", {.fields = 1, .embedding_dim = 4}),
            "tower t: needs at least two fields");
  EXPECT_THAT(WhyNoTower("dot", {.has_keys = false, .dense_width = 3}),
              HasSubstr("multiplies embeddings, and the data have no keys"));
  EXPECT_EQ(WhyNoTower("fm", {.has_keys = false, .dense_width = 3}),
            "tower t: the data has no keys to pair");
  EXPECT_EQ(WhyNoTower("fm", {.fields = 2, .embedding_dim = 4, .outputs = 3}),
            "tower t: has one output, the model has 3");
  EXPECT_EQ(WhyNoTower("fm", {.fields = 2, .embedding_dim = 513}),
            "tower t: embedding_dim is 513, at most 512");
}

TEST(MakeTowerTest, AConvolutionNeedsAnImageThatCanBeHalvedAsOftenAsItHasLayers) {
  EXPECT_EQ(WhyNoTower("conv", {.has_keys = false, .dense_width = 12}, {2}),
            "tower t: the data has no images (data.image_shape)");
  const ModelShape image = {
      .has_keys = false, .dense_width = 12, .image_height = 4, .image_width = 3};
  EXPECT_EQ(WhyNoTower("conv", image), "tower t: hidden (channels) is empty");
  EXPECT_EQ(WhyNoTower("conv", image, {2, 2}),
            "tower t: an image of 4 x 3 cannot be halved 2 times");
  ModelShape cut = image;
  cut.dense_width = 13;
  EXPECT_EQ(WhyNoTower("conv", cut, {2}), "tower t: a record has 13 numbers, an image 4 x 3");
}

TEST(MakeTowerTest, LayersAndInputsAreNotNone) {
  EXPECT_EQ(WhyNoTower("cross", {.has_keys = false, .dense_width = 3}),
            "tower t: layers is 0, at least 1");
  EXPECT_EQ(WhyNoTower("linear", {.has_keys = false}),
            "tower t: the data has neither keys nor numbers to weigh");
}

TEST(ModelShapeTest, FeaturesStandSideBySideWithTheLengthsThatTheyHave) {
  const ModelShape fields = {.fields = 3, .embedding_dim = 4, .dense_width = 5};
  EXPECT_EQ(fields.embedding_columns(), 12);
  EXPECT_EQ(fields.feature_columns(), 17);
  const ModelShape features = {.fields = 2,
                               .embedding_dim = 99,
                               .pooled = {{.name = "user", .dim = 4}, {.name = "item", .dim = 8}},
                               .dense_width = 1};
  EXPECT_EQ(features.embedding_columns(), 12);
  EXPECT_EQ(features.feature_columns(), 13);
}

}  // namespace
}  // namespace capstan
