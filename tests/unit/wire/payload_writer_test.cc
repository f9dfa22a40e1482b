#include "capstan/wire/payload_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "capstan/wire/reader.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/unit/wire/samples.h"

namespace capstan::wire {
namespace {

using google::protobuf::util::MessageDifferencer;

void Put(char* place, const std::string& bytes) {
  if (place != nullptr) std::memcpy(place, bytes.data(), bytes.size());
}

grpc::ByteBuffer WritePush(const v1::PushRequest& push) {
  PayloadShape shape;
  for (const v1::PartitionGradient& partition : push.partitions()) {
    shape.AddPartition(partition.partition());
    for (const v1::TableGradient& rows : partition.tables()) {
      shape.Add(TableShape{rows.table(), rows.keys().size(), rows.values().size(),
                           rows.pulled().size(), rows.updates().size()});
    }
    for (const v1::BlockGradient& block : partition.blocks()) {
      shape.Add(BlockShape{block.block(), block.values().size(), block.pulled().size()});
    }
  }
  v1::PushRequest head = push;
  head.clear_partitions();
  PayloadWriter writer(kPushRequest, &head, shape);
  size_t table = 0, block = 0;
  for (int i = 0; i < push.partitions_size(); ++i) {
    const v1::PartitionGradient& partition = push.partitions(i);
    writer.SetVersions(i, partition.dense_version(), partition.sparse_version());
    for (const v1::TableGradient& rows : partition.tables()) {
      Put(writer.table(table).keys, rows.keys());
      Put(writer.table(table).values, rows.values());
      Put(writer.table(table).pulled, rows.pulled());
      Put(writer.table(table++).updates, rows.updates());
    }
    for (const v1::BlockGradient& values : partition.blocks()) {
      Put(writer.block(block).values, values.values());
      Put(writer.block(block++).pulled, values.pulled());
    }
  }
  return writer.Finish();
}

TEST(PayloadWriterTest, AGeneratedClassReadsWhatItWrites) {
  const v1::PushRequest sent = SamplePush();
  v1::PushRequest read;
  ASSERT_TRUE(read.ParseFromString(TextOf(WritePush(sent))));
  EXPECT_TRUE(MessageDifferencer::Equals(read, sent)) << read.ShortDebugString().substr(0, 500);
}

TEST(PayloadWriterTest, WritesOneSliceOfExactlyTheSize) {
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(WritePush(SamplePush()).Dump(&slices).ok());
  EXPECT_EQ(slices.size(), 1u);
}

TEST(PayloadWriterTest, WritesBlockNumbersPacked) {
  PayloadShape shape;
  shape.AddPartition(7);
  shape.Add(TableShape{.table = 1, .keys = 8});
  shape.Add(BlockShape{.block = 0});
  shape.Add(BlockShape{.block = 1'000'000});
  v1::PullRequest head;
  head.set_evaluation(true);
  PayloadWriter writer(kPullRequest, &head, shape);
  Put(writer.table(0).keys, "abcdefgh");
  v1::PullRequest read;
  ASSERT_TRUE(read.ParseFromString(TextOf(writer.Finish())));
  ASSERT_EQ(read.partitions_size(), 1);
  EXPECT_TRUE(read.evaluation());
  EXPECT_EQ(read.partitions(0).tables(0).keys(), "abcdefgh");
  ASSERT_EQ(read.partitions(0).blocks_size(), 2);
  EXPECT_EQ(read.partitions(0).blocks(1), 1'000'000u);
}

TEST(PayloadWriterTest, WritesAReplyWhoseVersionsComeLast) {
  PayloadShape shape;
  shape.AddPartition(0);
  shape.Add(TableShape{.table = 0, .values = 4});
  shape.Add(BlockShape{.block = 2, .values = 8});
  PayloadWriter writer(kPullReply, nullptr, shape);
  Put(writer.table(0).values, "1234");
  Put(writer.block(0).values, "12345678");
  writer.SetVersions(0, ~uint64_t{0}, 12345);
  v1::PullReply read;
  ASSERT_TRUE(read.ParseFromString(TextOf(writer.Finish())));
  EXPECT_EQ(read.partitions(0).dense_version(), ~uint64_t{0});
  EXPECT_EQ(read.partitions(0).sparse_version(), 12345u);
  EXPECT_EQ(read.partitions(0).tables(0).values(), "1234");
  EXPECT_EQ(read.partitions(0).blocks(0).block(), 2u);
  EXPECT_EQ(read.partitions(0).blocks(0).values(), "12345678");
}

TEST(PayloadWriterTest, WritesAnEmptyMessage) {
  PayloadWriter writer(kPullReply, nullptr, PayloadShape());
  EXPECT_EQ(TextOf(writer.Finish()), "");
}

}  // namespace
}  // namespace capstan::wire
