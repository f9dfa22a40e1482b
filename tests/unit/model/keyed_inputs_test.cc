// What towers read of the rows of one table, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capstan/model/layout.h"
#include "capstan/model/row_inputs.h"
#include "tests/unit/model/model_fixture.h"

namespace capstan {
namespace {

TEST(KeyedInputsTest, RowsAreCutIntoTheirSegmentsAndEmbeddingsStandSideBySide) {
  v1::JobSpec spec = SpecOf("deepfm", 2, 1);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  const auto inputs = NewKeyedInputs(spec, /*reads_features=*/true);
  EXPECT_EQ(inputs->row_dim(), 4);
  const RandomBatch batch(spec, 2, 1);
  Gemm gemm;
  MatrixBuffer buffer;
  const KeyedRows keys = inputs->Forward(batch.Input(), gemm, buffer.Shape(2, 7));
  EXPECT_EQ(keys.linear(3, 0), batch.rows[12]);
  EXPECT_EQ(keys.embedding(3, 2), batch.rows[15]);
  EXPECT_EQ(buffer.matrix()(1, 3), batch.rows[batch.index[3] * 4 + 1]) << "the second key";

  TowerGradients gradients = inputs->Gradients();
  gradients.features(1, 3) += 5;
  gradients.linear(0, 0) += 7;
  const std::span<const float> rows = inputs->Backward(batch.Input(), gemm);
  ASSERT_EQ(rows.size(), batch.rows.size());
  EXPECT_EQ(rows[batch.index[3] * 4 + 1], 5);
  EXPECT_EQ(rows[0], 7);
}

TEST(KeyedInputsTest, AModelWithoutATableHasNoRows) {
  v1::JobSpec spec = SpecOf("mlp", 0, 3);
  ASSERT_EQ(LayOutModel(spec), absl::OkStatus());
  const auto inputs = NewKeyedInputs(spec, /*reads_features=*/true);
  const RandomBatch batch(spec, 2, 1);
  Gemm gemm;
  MatrixBuffer buffer;
  EXPECT_EQ(inputs->Forward(batch.Input(), gemm, buffer.Shape(2, 3)).linear.cols(), 0);
  EXPECT_EQ(inputs->Gradients().features.cols(), 0);
  EXPECT_TRUE(inputs->Backward(batch.Input(), gemm).empty());
}

}  // namespace
}  // namespace capstan
