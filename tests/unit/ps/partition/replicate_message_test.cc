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
  v1::ReplicateRequest request;
  request.set_first(11);
  SentPushes pushes;
  for (const PushShare& share : shares) {
    pushes.Add(share, *request.add_operations()->mutable_push());
  }
  const auto read = ReplicateMessage::Read(pushes.Write(request));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->head().first(), 11u);
  ASSERT_EQ((*read)->head().operations_size(), 5);
  EXPECT_EQ((*read)->head().operations(2).push().push(), 1u);
  EXPECT_EQ((*read)->head().operations(4).push().place(), 3u);
  ASSERT_EQ((*read)->pushes(), 2u);
  EXPECT_THAT(PartitionsOf((*read)->push(0)), ElementsAre(5, 6, 8, 4));
  EXPECT_THAT(PartitionsOf((*read)->push(1)), ElementsAre(9));
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
