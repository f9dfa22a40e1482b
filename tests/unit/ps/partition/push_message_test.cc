// What a shard demands of a push, and what it reads in one.
#include "ps/partition/push_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ps/partition/rejection.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {
namespace {

using ::testing::ElementsAre;

// An asynchronous job with a table of one column and, in each of its partitions, a block.
class PushMessageTest : public testing::Test {
 protected:
  using Push = absl::StatusOr<std::shared_ptr<const PushMessage>>;

  PushMessageTest() {
    job_.set_job("pushes");
    job_.set_partition_count(1);
    job_.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
    job_.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
    AddOneColumn(job_);
    v1::TensorSpec& tensor = *job_.add_tensors();
    tensor.set_name("w");
    tensor.add_shape(2);
    tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
    push_.mutable_stream()->set_stream(7);
    push_.add_partitions();
  }

  static std::string Packed(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }
  v1::TableGradient& AddRows(const std::vector<uint64_t>& keys, const std::vector<float>& values) {
    v1::TableGradient& rows = *push_.mutable_partitions(0)->add_tables();
    rows.set_table(1);
    rows.set_keys(keys.data(), keys.size() * sizeof(uint64_t));
    rows.set_values(Packed(values));
    return rows;
  }
  v1::BlockGradient& AddBlock(const std::string& values) {
    v1::BlockGradient& block = *push_.mutable_partitions(0)->add_blocks();
    block.set_values(values);
    return block;
  }
  Push Read(const grpc::ByteBuffer& buffer) const {
    return PushMessage::Read(buffer, *Catalog::Create(job_), nullptr);
  }
  Push Read() const {
    const grpc::Slice slice(push_.SerializeAsString());
    return Read(grpc::ByteBuffer(&slice, 1));
  }
  static std::vector<float> Floats(const PackedFloats& packed) {
    std::vector<float> floats(packed.size());
    if (!floats.empty()) std::memcpy(floats.data(), packed.at(0), floats.size() * sizeof(float));
    return floats;
  }

  v1::JobSpec job_;
  v1::PushRequest push_;
};

TEST_F(PushMessageTest, HoldsTheGradientsOfRowsAndBlocks) {
  AddRows({5, 6}, {1, 2});
  AddBlock(Packed({3, 4}));
  const Push push = Read();
  ASSERT_TRUE(push.ok()) << push.status();
  const wire::PartitionPart& part = (*push)->partitions()[0];
  ASSERT_EQ((*push)->rows_of(part).size(), 1u);
  EXPECT_THAT(Floats((*push)->rows_of(part)[0].gradients.values), ElementsAre(1, 2));
  EXPECT_EQ((*push)->rows_of(part)[0].gradients.keys[1], 6u);
  ASSERT_EQ((*push)->blocks_of(part).size(), 1u);
  EXPECT_THAT(Floats((*push)->blocks_of(part)[0].gradient.values), ElementsAre(3, 4));
  EXPECT_EQ((*push)->head().stream().stream(), 7u);
  EXPECT_EQ((*push)->head().partitions_size(), 0);
}

TEST_F(PushMessageTest, FloatsOfTwoBytesAreWidened) {
  push_.set_dtype(v1::DTYPE_BFLOAT16);
  AddBlock(std::string("\x80\x3F\x40\xC0", 4));  // 0x3F80 is 1, and 0xC040 is -3.
  const Push push = Read();
  ASSERT_TRUE(push.ok()) << push.status();
  const wire::PartitionPart& part = (*push)->partitions()[0];
  EXPECT_THAT(Floats((*push)->blocks_of(part)[0].gradient.values), ElementsAre(1, -3));
}

TEST_F(PushMessageTest, ANumberThatIsNotFiniteMakesTheWholePushRefused) {
  for (const float odd :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    push_.mutable_partitions(0)->Clear();
    AddRows({5}, {1});
    AddBlock(Packed({0, odd}));
    const absl::Status refused = Read().status();
    EXPECT_EQ(refused.message(), "a gradient holds NaN or infinity");
    EXPECT_EQ(ReasonOf(refused), Rejection::kNan);
  }
}

TEST_F(PushMessageTest, ValuesOfAnotherLengthAreRefusedWithBothLengths) {
  AddRows({5, 6}, {1});
  EXPECT_EQ(Read().status(),
            absl::InvalidArgumentError("table features: 4 bytes of values, should be 8"));
  push_.mutable_partitions(0)->Clear();
  AddBlock(Packed({1, 2, 3}));
  EXPECT_EQ(Read().status(),
            absl::InvalidArgumentError("block 0: 12 bytes of values, should be 8"));
}

TEST_F(PushMessageTest, PulledWeightsAreNeededForCompensationAndTakenWithoutIt) {
  v1::TableGradient& rows = AddRows({5, 6}, {1, 2});
  EXPECT_TRUE(Read().ok());
  rows.set_pulled(Packed({3, 4}));
  EXPECT_TRUE(Read().ok()) << "the policy may have changed";
  job_.mutable_sparse_update()->set_stale_gradients(v1::STALE_GRADIENTS_COMPENSATE);
  EXPECT_TRUE(Read().ok());
  for (const size_t bytes : {0, 4}) {
    rows.mutable_pulled()->resize(bytes);
    EXPECT_TRUE(absl::IsInvalidArgument(Read().status())) << bytes;
  }
}

TEST_F(PushMessageTest, AllRowsOfATableSayWhichVersionWasPulledOrNone) {
  v1::TableGradient& rows = AddRows({5, 6}, {1, 2});
  for (const bool known : {false, true}) {
    if (known) rows.set_updates(std::string(8, '\1'));
    const Push push = Read();
    ASSERT_TRUE(push.ok()) << push.status();
    EXPECT_EQ((*push)->KnowsRowVersions((*push)->partitions()[0]), known);
  }
  rows.set_updates(std::string(4, '\1'));
  EXPECT_EQ(Read().status(),
            absl::InvalidArgumentError("table features: 4 bytes of updates, should be 8 or none"));
}

TEST_F(PushMessageTest, GradientsNeedTheNameThatTheirPolicyWants) {
  job_.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  AddRows({5}, {1});
  EXPECT_TRUE(Read().ok()) << "it has nothing for the synchronous part";
  AddBlock(Packed({1, 2}));
  EXPECT_EQ(Read().status(), absl::InvalidArgumentError("dense gradients need PushRequest.stage"));
  push_.mutable_stage()->set_round(1);
  EXPECT_TRUE(Read().ok());
  push_.clear_stream();
  EXPECT_EQ(Read().status(),
            absl::InvalidArgumentError("sparse gradients need PushRequest.stream"));
}

TEST_F(PushMessageTest, SharesOfSomePartitionsAreAPushOfTheirOwnAndNeighboursTravelTogether) {
  job_.set_partition_count(4);
  push_.clear_partitions();
  push_.set_examples(9);
  for (uint32_t i = 0; i < 4; ++i) push_.add_partitions()->set_partition(i);
  const Push push = Read();
  ASSERT_TRUE(push.ok()) << push.status();
  std::vector<grpc::Slice> slices;
  const size_t places[] = {0, 2, 3};
  const size_t bytes = (*push)->AppendShares(places, slices);
  EXPECT_EQ(slices.size(), 3u) << "the head, partition 0, and 2 with 3";
  const Push shares = Read(grpc::ByteBuffer(slices.data(), slices.size()));
  ASSERT_TRUE(shares.ok()) << shares.status();
  EXPECT_EQ((*shares)->size(), bytes);
  EXPECT_EQ((*shares)->head().examples(), 9u);
  std::vector<uint32_t> partitions;
  for (const wire::PartitionPart& part : (*shares)->partitions()) {
    partitions.push_back(part.partition);
  }
  EXPECT_THAT(partitions, ElementsAre(0, 2, 3));
}

}  // namespace
}  // namespace capstan::ps
