#include "capstan/wire/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "absl/status/statusor.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/unit/wire/samples.h"

namespace capstan::wire {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::HasSubstr;

struct Parsed {
  explicit Parsed(const grpc::ByteBuffer& buffer) : message(buffer) {}
  Message message;
  Payload payload;
};

// Reads and puts everything back into the generated class.
absl::StatusOr<v1::PushRequest> ReadPush(const grpc::ByteBuffer& buffer) {
  Message message(buffer);
  Payload payload;
  v1::PushRequest push;
  absl::Status read = Read(kPushRequest, message, push, payload);
  if (!read.ok()) return read;
  for (const PartitionPart& part : payload.partitions) {
    v1::PartitionGradient& partition = *push.add_partitions();
    partition.set_partition(part.partition);
    Restore(payload, part, partition);
  }
  return push;
}

TEST(ReaderTest, ReadsWhatTheGeneratedClassWrites) {
  const v1::PushRequest sent = SamplePush();
  auto read = ReadPush(Cut(sent.SerializeAsString(), {1 << 20}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(MessageDifferencer::Equals(*read, sent)) << read->ShortDebugString().substr(0, 500);
}

class CutTest : public testing::TestWithParam<std::vector<size_t>> {};

TEST_P(CutTest, ReadsTheSameHoweverTheMessageIsCut) {
  const v1::PushRequest sent = SamplePush();
  auto read = ReadPush(Cut(sent.SerializeAsString(), GetParam()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(MessageDifferencer::Equals(*read, sent));
}

// Also what the message's own slices do not outlive: what is shared keeps the memory.
TEST_P(CutTest, PartitionsAreSharedAsTheyLieInTheMessage) {
  const std::string sent = SamplePush().SerializeAsString();
  std::vector<grpc::Slice> shared;
  {
    const Message message(Cut(sent, GetParam()));
    v1::PushRequest head;
    Payload payload;
    ASSERT_TRUE(Read(kPushRequest, message, head, payload).ok());
    const PartitionPart &first = payload.partitions[0], &second = payload.partitions[1];
    EXPECT_EQ(TextOf(first.field), sent.substr(first.place, first.field.size()));
    EXPECT_EQ(second.place, first.place + first.field.size());
    const size_t both = first.field.size() + second.field.size();
    EXPECT_EQ(TextOf(first.field.Prolonged(both)), sent.substr(first.place, both));
    second.field.ShareAs(shared);
    first.field.ShareAs(shared);
  }
  v1::PushRequest read;
  ASSERT_TRUE(read.ParseFromString(TextOf(grpc::ByteBuffer(shared.data(), shared.size()))));
  v1::PushRequest swapped;
  *swapped.add_partitions() = SamplePush().partitions(1);
  *swapped.add_partitions() = SamplePush().partitions(0);
  EXPECT_TRUE(MessageDifferencer::Equals(read, swapped));
}

INSTANTIATE_TEST_SUITE_P(Slices, CutTest,
                         testing::Values(std::vector<size_t>{1}, std::vector<size_t>{1, 0, 0, 2},
                                         std::vector<size_t>{3}, std::vector<size_t>{7, 1, 13},
                                         std::vector<size_t>{16'384}, std::vector<size_t>{0, 999}));

TEST(ReaderTest, ReadsBlockNumbersPackedAndOneByOne) {
  v1::PullRequest sent = SamplePull();
  std::string bytes = sent.SerializeAsString();
  // A partition with blocks 5 and 6 written one by one: field 3, varint.
  bytes += std::string("\x32\x06\x08\x09\x18\x05\x18\x06", 8);
  Parsed parsed(Cut(bytes, {2}));
  v1::PullRequest head;
  ASSERT_TRUE(Read(kPullRequest, parsed.message, head, parsed.payload).ok());
  sent.clear_partitions();
  EXPECT_TRUE(MessageDifferencer::Equals(head, sent));
  ASSERT_EQ(parsed.payload.partitions.size(), 3u);
  const auto packed = parsed.payload.blocks_of(parsed.payload.partitions[0]);
  ASSERT_EQ(packed.size(), 2u);
  EXPECT_EQ(packed[1].block, 1'000'000u);
  const auto single = parsed.payload.blocks_of(parsed.payload.partitions[2]);
  ASSERT_EQ(single.size(), 2u);
  EXPECT_EQ(single[1].block, 6u);
}

TEST(ReaderTest, TakesFieldsInAnyOrderAndTheLastOfASingularOne) {
  // partitions { tables { values: "4444" keys: "12345678" table: 1 table: 3 } partition: 9 } dtype:
  // 1
  const std::string table =
      std::string("\x1a\x04") + "4444" + "\x12\x08" + "12345678" + "\x08\x01\x08\x03";
  const std::string partition =
      "\x22" + std::string(1, static_cast<char>(table.size())) + table + "\x08\x09";
  const std::string bytes =
      "\x32" + std::string(1, static_cast<char>(partition.size())) + partition + "\x10\x01";
  auto read = ReadPush(Cut(bytes, {1000}));
  ASSERT_TRUE(read.ok()) << read.status();
  v1::PushRequest expected;
  ASSERT_TRUE(expected.ParseFromString(bytes));
  EXPECT_TRUE(MessageDifferencer::Equals(*read, expected)) << read->ShortDebugString();
  EXPECT_EQ(read->partitions(0).tables(0).table(), 3u);
}

TEST(ReaderTest, MergesAHeaderThatComesTwice) {
  v1::PushRequest first, second;
  first.mutable_header()->set_clock(4);
  second.mutable_header()->set_trainer(6);
  auto read = ReadPush(Cut(first.SerializeAsString() + second.SerializeAsString(), {3}));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->header().clock(), 4u);
  EXPECT_EQ(read->header().trainer(), 6u);
}

TEST(ReaderTest, SkipsUnknownFieldsOfEveryWireType) {
  std::string unknown;
  unknown += std::string("\xF8\x01\x07", 3);                               // 31: varint
  unknown += std::string("\xF9\x01", 2) + "12345678";                      // 31: fixed64
  unknown += std::string("\xFA\x01\x03", 3) + "abc";                       // 31: bytes
  unknown += std::string("\xFD\x01", 2) + "1234";                          // 31: fixed32
  unknown += std::string("\xFB\x01\xFB\x01\x08\x07\xFC\x01\xFC\x01", 10);  // 31: group in a group
  const std::string partition = "\x08\x05" + unknown;
  const std::string bytes =
      unknown + "\x32" + std::string(1, static_cast<char>(partition.size())) + partition + unknown;
  auto read = ReadPush(Cut(bytes, {2}));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->partitions_size(), 1);
  EXPECT_EQ(read->partitions(0).partition(), 5u);
}

TEST(ReaderTest, AnEmptyMessageHasNothing) {
  auto read = ReadPush(grpc::ByteBuffer());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->ByteSizeLong(), 0u);
}

struct BadMessage {
  std::string name;
  std::string bytes;
  std::string says;
};

class MalformedTest : public testing::TestWithParam<BadMessage> {};

TEST_P(MalformedTest, IsRefusedWithItsFieldNamed) {
  for (const std::vector<size_t>& sizes : {std::vector<size_t>{1}, std::vector<size_t>{1000}}) {
    auto read = ReadPush(Cut(GetParam().bytes, sizes));
    ASSERT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(GetParam().says));
  }
}

std::string Nested(const std::string& inner) {
  return "\x32" + std::string(1, static_cast<char>(inner.size())) + inner;
}

INSTANTIATE_TEST_SUITE_P(
    Wire, MalformedTest,
    testing::Values(
        BadMessage{"truncated_varint", "\x10\x80", "PushRequest.header"},
        BadMessage{"varint_of_11_bytes", "\x10" + std::string(10, '\x80') + "\x01", "header"},
        BadMessage{"length_beyond_the_end", "\x32\x7f\x08\x01", "PushRequest.partitions"},
        BadMessage{"length_of_2_63", "\x32" + std::string(8, '\xFF') + "\x7F", "partitions"},
        BadMessage{"field_number_0", std::string("\x02\x00", 2), "header"},
        BadMessage{"wire_type_7", "\x17\x01", "header"},
        BadMessage{"end_of_a_group_that_was_not_begun", "\x0c", "header"},
        BadMessage{"group_that_does_not_end", "\xFB\x01\x08\x07", "header"},
        BadMessage{"group_that_ends_as_another", "\xFB\x01\x0c", "header"},
        BadMessage{"groups_101_deep", std::string(101, '\x7B') + std::string(101, '\x7C'),
                   "header"},
        BadMessage{"keys_longer_than_their_table",
                   Nested("\x22\x04\x12\x7f"
                          "ab"),
                   "partitions.tables"},
        BadMessage{"values_longer_than_their_block",
                   Nested("\x2a\x03\x12\x09"
                          "a"),
                   "partitions.blocks"},
        BadMessage{"truncated_tag", Nested("\x80"), "partitions"}),
    [](const auto& test) { return test.param.name; });

// Damaged messages are read or refused, as the generated parser would, and never beyond their
// bytes.
TEST(ReaderTest, SurvivesRandomDamageAndAgreesWithTheGeneratedParser) {
  v1::PushRequest sample = SamplePush();
  sample.mutable_partitions(1)->mutable_blocks(0)->set_values("short");
  const std::string whole = sample.SerializeAsString();
  std::mt19937 random(20261121);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (int hit = random() % 4; hit >= 0; --hit) bytes[random() % bytes.size()] = random();
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    auto read = ReadPush(Cut(bytes, {1 + random() % 50, random() % 5}));
    v1::PushRequest expected;
    ASSERT_EQ(read.ok(), expected.ParseFromString(bytes)) << "round " << round;
  }
}

}  // namespace
}  // namespace capstan::wire
