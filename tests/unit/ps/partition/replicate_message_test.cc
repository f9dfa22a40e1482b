// What owners tell backups, on the wire: the pushes lie in the message, and are not copied.
#include "ps/partition/replicate_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capstan/rpc/event_loop.h"
#include "ps/partition/catalog.h"
#include "ps/partition/told_push.h"
#include "tests/unit/ps/shard/parsed.h"

namespace capstan::ps {
namespace {

using ::testing::ElementsAre;

// A push of these partitions, which carries nothing.
std::shared_ptr<const PushMessage> PushFor(const std::vector<uint32_t>& partitions) {
  v1::JobSpec job;
  job.set_partition_count(1000);
  const Catalog catalog = *Catalog::Create(job);
  v1::PushRequest push;
  push.set_examples(partitions.front());
  for (const uint32_t partition : partitions) push.add_partitions()->set_partition(partition);
  return *PushMessage::Read(EventLoop::Serialize(push), catalog, nullptr);
}

std::vector<uint32_t> PartitionsOf(const grpc::ByteBuffer& push) {
  const auto read = Parsed<v1::PushRequest>(push);
  std::vector<uint32_t> partitions;
  for (const v1::PartitionGradient& of : read.partitions()) partitions.push_back(of.partition());
  return partitions;
}

TEST(ReplicateMessageTest, WhatIsSentIsReadAndAPushHasWhatOperationsNameAlone) {
  const std::shared_ptr<const PushMessage> one = PushFor({4, 5, 6, 7, 8}), other = PushFor({9});
  const std::vector<PushShare> shares = {{one, 1}, {one, 2}, {other, 0}, {one, 4}, {one, 0}};
  v1::ReplicateRequest head;
  head.set_first(11);
  SentOperations operations;
  for (const PushShare& share : shares) operations.Add(ToldPush{.gradient = share});
  const auto read = ReplicateMessage::Read(operations.Write(head));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->head().first(), 11u);
  ASSERT_EQ((*read)->head().operations_size(), 5);
  EXPECT_EQ((*read)->head().operations(2).push().push(), 1u);
  EXPECT_EQ((*read)->head().operations(4).push().place(), 3u);
  ASSERT_EQ((*read)->pushes(), 2u);
  EXPECT_THAT(PartitionsOf((*read)->push(0)), ElementsAre(5, 6, 8, 4));
  EXPECT_THAT(PartitionsOf((*read)->push(1)), ElementsAre(9));
}

// The message of a push is used again for the next one, so nothing of one may be left in the other.
TEST(ReplicateMessageTest, OperationsAreSentInTheirOrderEachWithItsOwn) {
  const std::shared_ptr<const PushMessage> push = PushFor({4, 5});
  v1::Operation close;
  close.set_partition(6);
  close.mutable_close()->set_batches(7);
  SentOperations operations;
  operations.Add(ToldPush{.partition = PartitionIndex{5},
                          .pair = {1, 2},
                          .result = {.progress_examples = 100,
                                     .dense = v1::OUTCOME_APPLIED,
                                     .sparse = v1::OUTCOME_DROPPED,
                                     .dense_version = 1'000'000,
                                     .sparse_version = 12},
                          .gradient = {push, 1}});
  operations.Add(close);
  operations.Add(v1::Operation());
  operations.Add(ToldPush{.partition = PartitionIndex{4}, .gradient = {push, 0}});
  EXPECT_EQ(operations.size(), 4);
  const auto sent = Parsed<v1::ReplicateRequest>(operations.Write(v1::ReplicateRequest()));
  ASSERT_EQ(sent.operations_size(), 4);
  const v1::Operation& first = sent.operations(0);
  EXPECT_EQ(first.partition(), 5u);
  EXPECT_EQ(first.pair().term(), 1u);
  EXPECT_EQ(first.pair().n(), 2u);
  EXPECT_EQ(first.push().push(), 0u);
  EXPECT_EQ(first.push().place(), 0u);
  EXPECT_EQ(first.push().progress_examples(), 100u);
  EXPECT_EQ(first.push().dense(), v1::OUTCOME_APPLIED);
  EXPECT_EQ(first.push().sparse(), v1::OUTCOME_DROPPED);
  EXPECT_EQ(first.push().dense_version(), 1'000'000u);
  EXPECT_EQ(first.push().sparse_version(), 12u);
  EXPECT_EQ(sent.operations(1).SerializeAsString(), close.SerializeAsString());
  EXPECT_EQ(sent.operations(2).what_case(), v1::Operation::WHAT_NOT_SET);
  v1::Operation last;
  last.set_partition(4);
  last.mutable_pair();
  last.mutable_push()->set_place(1);
  EXPECT_EQ(sent.operations(3).SerializeAsString(), last.SerializeAsString());
}

// Any sender may put fields in any order, and gRPC may cut a message anywhere.
TEST(ReplicateMessageTest, OperationsAndPushesMayComeInTurnsAndInPieces) {
  std::string text;
  for (uint32_t i = 1; i <= 3; ++i) {
    v1::ReplicateRequest fields;
    fields.add_operations()->set_partition(1000 * i);
    fields.add_operations()->set_partition(1000 * i + 1);
    fields.add_pushes(std::string(i, 'p'));
    text += fields.SerializeAsString();
  }
  std::vector<grpc::Slice> pieces;
  for (const char& byte : text) pieces.emplace_back(&byte, 1);
  const auto read = ReplicateMessage::Read(grpc::ByteBuffer(pieces.data(), pieces.size()));
  ASSERT_TRUE(read.ok()) << read.status();
  std::vector<uint32_t> partitions;
  for (const v1::Operation& operation : (*read)->head().operations()) {
    partitions.push_back(operation.partition());
  }
  EXPECT_THAT(partitions, ElementsAre(1000, 1001, 2000, 2001, 3000, 3001));
  ASSERT_EQ((*read)->pushes(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ((*read)->push(i).Length(), i + 1);
}

// Short ones are kept in the slice itself.
TEST(ReplicateMessageTest, NothingOfAPushIsCopied) {
  v1::PushRequest push;
  push.add_partitions()->add_tables()->set_values(std::string(1000, 'v'));
  v1::ReplicateRequest request;
  request.add_pushes(push.SerializeAsString());
  const grpc::ByteBuffer sent = EventLoop::Serialize(request);
  std::vector<grpc::Slice> whole, part;
  ASSERT_TRUE(sent.Dump(&whole).ok());
  const auto read = ReplicateMessage::Read(sent);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->size(), sent.Length());
  ASSERT_TRUE((*read)->push(0).Dump(&part).ok());
  ASSERT_EQ(whole.size(), 1u);
  ASSERT_EQ(part.size(), 1u);
  EXPECT_EQ(part[0].end(), whole[0].end());
}

TEST(ReplicateMessageTest, WhatIsMalformedOrHoldsTooMuchIsRefused) {
  v1::ReplicateRequest request;
  for (int i = 0; i < ReplicateMessage::kMostItems; ++i) request.add_operations();
  EXPECT_TRUE(ReplicateMessage::Read(EventLoop::Serialize(request)).ok());
  request.add_operations();
  EXPECT_TRUE(
      absl::IsInvalidArgument(ReplicateMessage::Read(EventLoop::Serialize(request)).status()));
  for (const std::string malformed : {"\x32\x7f", "\x0a\x03zzz", "\x07"}) {
    const grpc::Slice slice(malformed);
    EXPECT_TRUE(
        absl::IsInvalidArgument(ReplicateMessage::Read(grpc::ByteBuffer(&slice, 1)).status()));
  }
}

}  // namespace
}  // namespace capstan::ps
