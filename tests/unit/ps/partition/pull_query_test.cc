// What a shard demands of a pull, and how large its reply will be.
#include "ps/partition/pull_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/placement/placement.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kTensorFloats = 200'000;  // Of one block: 800 kB.

// A job with a table of one column and a tensor.
class PullQueryTest : public testing::Test {
 protected:
  using Query = absl::StatusOr<std::unique_ptr<const PullQuery>>;

  static v1::JobSpec JobOf(uint32_t partitions) {
    v1::JobSpec job;
    job.set_job("pulls");
    job.set_partition_count(partitions);
    job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
    job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
    AddOneColumn(job);
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name("w");
    tensor.add_shape(8);
    tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    return job;
  }
  static v1::PullRequest KeysOf(const std::vector<uint64_t>& keys, uint32_t table = 1) {
    v1::PullRequest pull;
    v1::TableKeys& wanted = *pull.add_partitions()->add_tables();
    wanted.set_table(table);
    wanted.set_keys(keys.data(), keys.size() * sizeof(uint64_t));
    return pull;
  }
  static Query Read(const v1::PullRequest& pull, const v1::JobSpec& job) {
    const grpc::Slice slice(pull.SerializeAsString());
    return PullQuery::Read(grpc::ByteBuffer(&slice, 1), *Catalog::Create(job));
  }
};

TEST_F(PullQueryTest, TheReplyHasRoomForTheValuesOfAllThatIsAskedFor) {
  v1::PullRequest pull = KeysOf({5, 6, 5});
  pull.mutable_partitions(0)->add_blocks(0);
  for (const auto& [dtype, bytes] :
       {std::pair(v1::DTYPE_FLOAT32, 4u), std::pair(v1::DTYPE_BFLOAT16, 2u)}) {
    pull.set_dtype(dtype);
    const Query query = Read(pull, JobOf(1));
    ASSERT_TRUE(query.ok()) << query.status();
    const wire::PayloadShape& shape = (*query)->reply_shape();
    ASSERT_EQ(shape.tables.size(), 1u);
    EXPECT_EQ(shape.tables[0].values, 3 * bytes);
    EXPECT_EQ(shape.tables[0].updates, 0u);
    EXPECT_EQ(shape.blocks.at(0).values, 8 * bytes);
    EXPECT_EQ((*query)->keys(0)[2], 5u);
  }
}

TEST_F(PullQueryTest, RowsComeWithTheirVersionsWhereEachIsJudgedByItsOwnButNotForEvaluations) {
  v1::JobSpec job = JobOf(1);
  job.mutable_sparse_update()->set_stale_gradients(v1::STALE_GRADIENTS_SCALE);
  v1::PullRequest pull = KeysOf({5, 6, 7});
  EXPECT_EQ((*Read(pull, job))->reply_shape().tables.at(0).updates, 12u);
  pull.set_evaluation(true);
  EXPECT_EQ((*Read(pull, job))->reply_shape().tables.at(0).updates, 0u);
}

TEST_F(PullQueryTest, WhatTheJobLacksIsRefusedByName) {
  EXPECT_EQ(Read(KeysOf({5}, /*table=*/9), JobOf(1)).status(), absl::NotFoundError("no table 9"));
  v1::PullRequest block;
  block.add_partitions()->add_blocks(3);
  EXPECT_EQ(Read(block, JobOf(1)).status(), absl::NotFoundError("no block 3"));
  v1::PullRequest partition = KeysOf({5});
  partition.mutable_partitions(0)->set_partition(1);
  EXPECT_EQ(Read(partition, JobOf(1)).status(),
            absl::InvalidArgumentError("partitions: 1 is none of 1"));
}

TEST_F(PullQueryTest, AKeyOfAnotherPartitionIsRefused) {
  uint64_t of_1 = 0;
  while (PartitionOfKey(of_1, /*seed=*/0, 2) != PartitionIndex{1}) ++of_1;
  EXPECT_EQ(Read(KeysOf({of_1}), JobOf(2)).status(),
            absl::FailedPreconditionError(
                absl::StrCat("table features: key ", of_1, " belongs to partition 1, not 0")));
}

TEST_F(PullQueryTest, HalfAKeyAndWhatIsNoPullAreRefused) {
  v1::PullRequest half = KeysOf({5, 6});
  half.mutable_partitions(0)->mutable_tables(0)->mutable_keys()->resize(12);
  EXPECT_EQ(Read(half, JobOf(1)).status(),
            absl::InvalidArgumentError("table features: keys of 12 bytes, 8 make one"));
  const grpc::Slice noise(std::string("\xFF\xFF\xFF"));
  const Query none = PullQuery::Read(grpc::ByteBuffer(&noise, 1), *Catalog::Create(JobOf(1)));
  EXPECT_TRUE(absl::IsInvalidArgument(none.status())) << none.status();
}

TEST_F(PullQueryTest, ASmallRequestForAReplyAboveTheLimitOfMessagesIsRefused) {
  v1::JobSpec job = JobOf(1);
  job.mutable_tensors(0)->set_shape(0, kTensorFloats);
  const Catalog catalog = *Catalog::Create(job);
  const size_t of_a_block = catalog.layout().block(BlockId{0}).length * sizeof(float);
  v1::PullRequest pull;
  v1::PartitionPull& part = *pull.add_partitions();
  const size_t fit = (size_t{64} << 20) / of_a_block;
  for (size_t i = 0; i < fit; ++i) part.add_blocks(0);
  EXPECT_TRUE(Read(pull, job).ok());
  part.add_blocks(0);
  const absl::Status refused = Read(pull, job).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("above 67108864 bytes"));
}

}  // namespace
}  // namespace capstan::ps
