// Tables and tensors as a client sees them, and which of them it need not push.
#include "capstan/client/parameter_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

// Three tensors of 3, 5 and 2 floats in two partitions.
class ParameterMapTest : public testing::Test {
 protected:
  ParameterMapTest() {
    job_.set_partition_count(2);
    for (const uint32_t floats : {3u, 5u, 2u}) {
      v1::TensorSpec& tensor = *job_.add_tensors();
      tensor.set_name(absl::StrCat("w", floats));
      tensor.add_shape(floats);
    }
  }
  void Freeze(int tensor) { job_.mutable_tensors(tensor)->set_role(v1::TENSOR_ROLE_FROZEN); }
  // The tensors that some block which changes belongs to.
  static std::set<uint32_t> Changing(const ParameterMap& map) {
    std::set<uint32_t> tensors;
    for (uint32_t i = 0; i < map.partition_count(); ++i) {
      const PartitionIndex partition{static_cast<int32_t>(i)};
      for (const BlockId block : map.changing_blocks_of(partition)) {
        EXPECT_EQ(map.layout().block(block).partition, partition);
        tensors.insert(map.layout().block(block).tensor);
      }
    }
    return tensors;
  }

  v1::JobSpec job_;
};

TEST_F(ParameterMapTest, TablesStandInTheOrderOfTheJobWithTheirNumbers) {
  for (const uint32_t id : {9u, 4u}) {
    v1::TableSpec& table = *job_.add_tables();
    table.set_id(id);
    table.set_seed(10 + id);
    table.set_dim(2 * id);
  }
  const ParameterMap map = *ParameterMap::Create(job_);
  ASSERT_EQ(map.tables().size(), 2u);
  EXPECT_EQ(map.tables()[0].id, TableId{9});
  EXPECT_EQ(map.tables()[1].id, TableId{4});
  EXPECT_EQ(map.tables()[1].seed, 14u);
  EXPECT_EQ(map.tables()[1].dim, 8u);
}

TEST_F(ParameterMapTest, WithoutFrozenTensorsAllBlocksChange) {
  const ParameterMap map = *ParameterMap::Create(job_);
  EXPECT_TRUE(map.frozen().empty());
  EXPECT_THAT(Changing(map), testing::ElementsAre(0, 1, 2));
}

TEST_F(ParameterMapTest, FrozenTensorsLieWhereTheyAreInTheFlatVectorAndTheirBlocksDoNotChange) {
  Freeze(0);
  Freeze(2);
  const ParameterMap map = *ParameterMap::Create(job_);
  ASSERT_EQ(map.frozen().size(), 2u);
  EXPECT_EQ(map.frozen()[0].begin, 0u);
  EXPECT_EQ(map.frozen()[0].count, 3u);
  EXPECT_EQ(map.frozen()[1].begin, 8u);
  EXPECT_EQ(map.frozen()[1].count, 2u);
  EXPECT_THAT(Changing(map), testing::ElementsAre(1));
}

TEST_F(ParameterMapTest, WhereAllTensorsAreFrozenNoBlockChanges) {
  for (const int tensor : {0, 1, 2}) Freeze(tensor);
  EXPECT_TRUE(Changing(*ParameterMap::Create(job_)).empty());
}

TEST_F(ParameterMapTest, AJobThatCannotBeLaidOutIsRefused) {
  job_.set_partition_count(0);
  EXPECT_EQ(ParameterMap::Create(job_).status().message(), "partition_count is 0");
  job_.set_partition_count(2);
  job_.mutable_tensors(1)->set_shape(0, 0);
  EXPECT_EQ(ParameterMap::Create(job_).status().message(),
            "tensor w5: extent 0 of its shape is impossible");
}

}  // namespace
}  // namespace capstan
