#include "worker/shell/frozen_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan::worker {
namespace {

// Tensors of two floats each.
ParameterMap MapOf(const std::vector<v1::TensorRole>& roles) {
  v1::JobSpec job;
  job.set_partition_count(3);
  for (const v1::TensorRole role : roles) {
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.add_shape(2);
    tensor.set_role(role);
  }
  return *ParameterMap::Create(job);
}

TEST(FrozenTensorsTest, AreCopiedToTheirPlacesAndNowhereElse) {
  const ParameterMap map = MapOf({v1::TENSOR_ROLE_FROZEN, v1::TENSOR_ROLE_UNSPECIFIED,
                                  v1::TENSOR_ROLE_FROZEN, v1::TENSOR_ROLE_RUNNING});
  FrozenTensors frozen(map);
  EXPECT_FALSE(frozen.Know(Timeline{1}));
  frozen.Learn(Timeline{1}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_TRUE(frozen.Know(Timeline{1}));
  EXPECT_FALSE(frozen.Know(Timeline{2}));
  std::vector<float> parameters(8, 0);
  frozen.Fill(absl::MakeSpan(parameters));
  EXPECT_THAT(parameters, testing::ElementsAre(1, 2, 0, 0, 5, 6, 0, 0));
}

TEST(FrozenTensorsTest, WhereThereAreNoneTheyAreKnown) {
  const ParameterMap map = MapOf({v1::TENSOR_ROLE_UNSPECIFIED});
  EXPECT_TRUE(FrozenTensors(map).Know(Timeline{1}));
}

}  // namespace
}  // namespace capstan::worker
