// The vectors that towers read of bags of keys, and the gradients that their rows get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "capstan/model/layout.h"
#include "capstan/model/row_inputs.h"
#include "tests/unit/model/model_fixture.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

// DeepFM over user and item (one key each), seen (a weighted mean) and tags (a sum); rows are a
// linear weight and an embedding of two numbers. Of two examples.
class PooledInputsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (kernels::Find(GetParam()) == nullptr) GTEST_SKIP() << "not on this CPU";
    gemm_ = std::make_unique<Gemm>(*kernels::Find(GetParam()));
    ASSERT_EQ(LayOutModel(spec_), absl::OkStatus());
    inputs_ = NewPooledInputs(spec_);
  }

  NetworkInput Input() const {
    return {.labels = {},
            .offsets = kExamples,
            .index = {},
            .values = {},
            .dense = {},
            .rows = {},
            .parameters = {},
            .features = features_,
            .tables = tables_};
  }

  const std::vector<uint32_t> kExamples = {0, 0, 0};
  const std::vector<uint32_t> one_each_ = {0, 1, 2}, seen_ = {0, 2, 3}, tags_ = {0, 0, 3};
  std::vector<float> seen_weights_ = {3, 1, 0};
  const std::vector<uint32_t> users_ = {1, 0};
  // Those of item (2), of seen (3) and of tags (3).
  const std::vector<uint32_t> items_ = {0, 1, 0, 2, 1, 2, 2, 0};
  const std::vector<float> user_rows_ = {1, 10, 11, 2, 20, 21};
  const std::vector<float> item_rows_ = {4, 40, 41, 8, 80, 81, 16, 160, 161};
  const std::vector<FeatureKeys> features_ = {
      {.offsets = one_each_, .begin = 0, .weights = {}},
      {.offsets = one_each_, .begin = 0, .weights = {}},
      {.offsets = seen_, .begin = 2, .weights = seen_weights_},
      {.offsets = tags_, .begin = 5, .weights = {}}};
  const std::vector<TableRows> tables_ = {{.index = users_, .rows = user_rows_},
                                          {.index = items_, .rows = item_rows_}};
  v1::JobSpec spec_ = SpecOfFeatures("deepfm", 0, 2, 2);
  std::unique_ptr<Gemm> gemm_;
  std::unique_ptr<RowInputs> inputs_;
};

INSTANTIATE_TEST_SUITE_P(Kernels, PooledInputsTest, testing::Values("baseline", "avx2", "avx512"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(PooledInputsTest, ABagIsTheSumOrTheMeanOfItsRowsAndAnEmptyOneIsZeros) {
  MatrixBuffer buffer;
  Matrix features = buffer.Shape(2, 8);
  const KeyedRows keys = inputs_->Forward(Input(), *gemm_, features);
  EXPECT_THAT(keys.offsets, ElementsAre(0, 4, 8)) << "a key for each feature";
  EXPECT_THAT(keys.index, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_TRUE(keys.values.empty());
  // user, item, seen: (3 * item 0 + item 2) / 4, tags: none. The second example has seen one thing,
  // whose weight is 0, and has the tags 2, 2 and 0.
  const std::vector<float> linear = {2, 4, 7, 0, 1, 8, 0, 36};
  EXPECT_THAT(Copy(FlatSpan(keys.linear)), Pointwise(FloatNear(1e-4f), linear));
  const std::vector<float> embeddings = {20, 21, 40, 41, 70, 71, 0,   0,
                                         10, 11, 80, 81, 0,  0,  360, 363};
  EXPECT_THAT(Copy(FlatSpan(keys.embedding)), Pointwise(FloatNear(1e-3f), embeddings));
  EXPECT_EQ(keys.embedding.rows(), 8);
  EXPECT_THAT(Copy(FlatSpan(Const(features))), Pointwise(FloatNear(1e-3f), embeddings));
}

TEST_P(PooledInputsTest, AMeanIsFiniteHoweverSmallOrLargeTheWeightsAre) {
  MatrixBuffer buffer;
  for (const auto& [weights, first] :
       {std::pair(std::pair(8e-40f, 0.0f), 40.0f), std::pair(std::pair(3e38f, 3e38f), 100.0f)}) {
    seen_weights_ = {weights.first, weights.second, 1e-40f};
    Matrix features = buffer.Shape(2, 8);
    inputs_->Forward(Input(), *gemm_, features);
    EXPECT_FLOAT_EQ(features(0, 4), first);
    EXPECT_FLOAT_EQ(features(1, 4), 80) << "the one thing that the second example has seen";
    TowerGradients gradients = inputs_->Gradients();
    gradients.features(1, 4) += 1;
    const auto backward = Copy(inputs_->Backward(Input(), *gemm_));
    EXPECT_FLOAT_EQ(backward[6 + 3 + 1], 1) << "of item 1";
  }
}

TEST_P(PooledInputsTest, ARowGetsTheGradientOfEachOfItsVectorsByItsShareInIt) {
  MatrixBuffer buffer;
  inputs_->Forward(Input(), *gemm_, buffer.Shape(2, 8));
  TowerGradients gradients = inputs_->Gradients();
  for (int key = 0; key < 8; ++key) gradients.linear(key, 0) += static_cast<float>(key + 1);
  gradients.features(0, 4) += 4;    // The mean of what the first example has seen.
  gradients.embedding(7, 1) += 10;  // The tags of the second one.
  // Item 0: item (2), 3/4 of seen (3), a tag (8). Item 1: item (6), and seen with the weight 0.
  // Item 2: 1/4 of seen, and two tags.
  const std::vector<float> expected = {5,      0, 0,  1, 0, 0,  // users
                                       12.25f, 3, 10, 6, 0, 0, 16.75f, 1, 20};
  EXPECT_THAT(Copy(inputs_->Backward(Input(), *gemm_)), Pointwise(FloatNear(1e-4f), expected));
}

TEST(PooledInputsTest, FeaturesOfDifferentDimsStandSideBySideOnly) {
  v1::JobSpec spec = SpecOfFeatures("wide_deep", 0, 1, 2);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  const RandomBatch batch(spec, 3, 1);
  Gemm gemm;
  MatrixBuffer buffer;
  const auto inputs = NewPooledInputs(spec);
  const KeyedRows keys = inputs->Forward(batch.Input(), gemm, buffer.Shape(3, 1 + 3 * 2));
  EXPECT_EQ(keys.embedding.cols(), 0);
  EXPECT_EQ(keys.linear.rows(), 12);
  EXPECT_EQ(buffer.matrix()(2, 0), batch.rows[batch.tables[0].index[2] * 2 + 1]);
}

}  // namespace
}  // namespace capstan
