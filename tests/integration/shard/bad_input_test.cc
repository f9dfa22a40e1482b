// What a shard must survive: each bad request gets the right status, changes nothing, moves a
// counter, and harms nobody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/rpc/limits.h"
#include "tests/integration/shard/raw_shard.h"

namespace capstan {
namespace {

using testing::HasSubstr;

class BadInputTest : public RawShardTest {
 protected:
  BadInputTest() {
    EXPECT_TRUE(client_.Push().ok());
    before_ = *client_.Pull();
    version_ = shards_.at(0).shard().accounts().Facts().version;
  }

  // Nothing that a test has sent may have changed anything, and others go on.
  ~BadInputTest() override {
    EXPECT_EQ(*client_.Pull(), before_) << "state has changed";
    EXPECT_EQ(shards_.at(0).shard().accounts().Facts().version, version_);
    EXPECT_TRUE(client_.Push().ok());
  }

 private:
  std::vector<float> before_;
  uint64_t version_ = 0;
};

TEST_F(BadInputTest, BytesThatAreNoMessage) {
  for (const std::string& bytes :
       {std::string("\x32\x7f\x08", 3), std::string(1000, '\xFF'), std::string("\x10\x80", 2)}) {
    EXPECT_EQ(SendBytes("Push", bytes).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(SendBytes("Pull", bytes).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(SendBytes("Flush", bytes).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(Rejected("shape"), 3);
}

TEST_F(BadInputTest, AnEmptyMessageSpeaksNoVersion) {
  EXPECT_EQ(SendBytes("Push", "").code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(SendBytes("Pull", "").code(), absl::StatusCode::kUnimplemented);
}

TEST_F(BadInputTest, AnotherWireVersionIsToldTheOneThatIsSpoken) {
  v1::PullRequest pull = GoodPull();
  pull.mutable_header()->set_wire_version(2);
  const absl::Status status = Send(pull);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("only 1"));
}

TEST_F(BadInputTest, AnotherIncarnationOrTimeline) {
  v1::PushRequest push = GoodPush();
  push.mutable_header()->set_target_incarnation(1);
  ExpectRefused(push, absl::StatusCode::kFailedPrecondition, "session");
  push = GoodPush();
  push.mutable_header()->set_timeline(77);
  ExpectRefused(push, absl::StatusCode::kFailedPrecondition, "session");
}

TEST_F(BadInputTest, AnUnknownMethod) {
  EXPECT_EQ(SendBytes("Steal", GoodPull().SerializeAsString()).code(),
            absl::StatusCode::kUnimplemented);
}

TEST_F(BadInputTest, AMessageOfTheLimitIsRead) {
  // A field that nobody knows fills it up: number 1000, 4 bytes of length.
  std::string bytes = GoodPull().SerializeAsString();
  const size_t size = kMaxMessageBytes - bytes.size() - 6;
  bytes += "\xC2\x3E";
  for (int shift = 0; shift < 28; shift += 7) {
    bytes += static_cast<char>((size >> shift & 0x7F) | (shift < 21 ? 0x80 : 0));
  }
  bytes.resize(kMaxMessageBytes, 'x');
  EXPECT_TRUE(SendBytes("Pull", bytes).ok());
}

TEST_F(BadInputTest, AMessageAboveTheLimit) {
  EXPECT_EQ(SendBytes("Push", std::string((64 << 20) + 1, 'x')).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(BadInputTest, ATableOrBlockThatIsNotThere) {
  v1::PushRequest push = GoodPush();
  Rows(push).set_table(99);
  ExpectRefused(push, absl::StatusCode::kNotFound, "unknown");
  push = GoodPush();
  push.mutable_partitions(0)->add_blocks()->set_block(1u << 31);
  ExpectRefused(push, absl::StatusCode::kNotFound, "unknown");
  v1::PullRequest pull = GoodPull();
  pull.mutable_partitions(0)->add_blocks(4096);
  EXPECT_EQ(Send(pull).code(), absl::StatusCode::kNotFound);
}

TEST_F(BadInputTest, APartitionThatIsNotThereOrComesTwice) {
  v1::PushRequest push = GoodPush();
  push.mutable_partitions(0)->set_partition(8);
  ExpectRefused(push, absl::StatusCode::kInvalidArgument, "shape");
  push = GoodPush();
  *push.add_partitions() = push.partitions(0);
  ExpectRefused(push, absl::StatusCode::kInvalidArgument, "shape");
}

TEST_F(BadInputTest, KeysAndValuesOfTheWrongLength) {
  v1::PushRequest push = GoodPush();
  Rows(push).set_keys("1234567");
  ExpectRefused(push, absl::StatusCode::kInvalidArgument, "shape");
  push = GoodPush();
  Rows(push).clear_keys();
  ExpectRefused(push, absl::StatusCode::kInvalidArgument, "shape");
  push = GoodPush();
  Rows(push).set_values(Packed(std::vector<float>{1, 2, 3}));
  ExpectRefused(push, absl::StatusCode::kInvalidArgument, "shape");
  push = GoodPush();
  Rows(push).set_values(Rows(push).values() + "x");
  ExpectRefused(push, absl::StatusCode::kInvalidArgument, "shape");
  push = GoodPush();
  Rows(push).set_pulled("1234");
  ExpectRefused(push, absl::StatusCode::kInvalidArgument, "shape");
}

TEST_F(BadInputTest, AnUnknownDtype) {
  v1::PushRequest push = GoodPush();
  push.set_dtype(static_cast<v1::Dtype>(7));
  ExpectRefused(push, absl::StatusCode::kInvalidArgument, "shape");
}

TEST_F(BadInputTest, ValuesOfAnotherDtypeThanTheOneNamed) {
  v1::PushRequest push = GoodPush();
  push.set_dtype(v1::DTYPE_BFLOAT16);
  ExpectRefused(push, absl::StatusCode::kInvalidArgument, "shape");
}

TEST_F(BadInputTest, AKeyOfAnotherPartition) {
  uint64_t stranger = 4;
  while (HomeOf(stranger) == HomeOf(3)) ++stranger;
  v1::PushRequest push = GoodPush();
  Rows(push).set_keys(Packed(std::vector<uint64_t>{stranger}));
  ExpectRefused(push, absl::StatusCode::kFailedPrecondition, "session");
  v1::PullRequest pull = GoodPull();
  Keys(pull).set_keys(Packed(std::vector<uint64_t>{stranger}));
  EXPECT_EQ(Send(pull).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(BadInputTest, AGradientWithoutAName) {
  v1::PushRequest push = GoodPush();
  push.clear_stream();
  ExpectRefused(push, absl::StatusCode::kInvalidArgument, "shape");
}

TEST_F(BadInputTest, AReplyThatWouldBeTooLarge) {
  v1::PullRequest pull = GoodPull();
  constexpr size_t kFits = (64 << 20) / (kColumns * sizeof(float)) - 1;
  Keys(pull).set_keys(Packed(std::vector<uint64_t>(kFits / 2, 3)));
  EXPECT_TRUE(Send(pull).ok()) << "the same key many times is legal";
  Keys(pull).set_keys(Packed(std::vector<uint64_t>(kFits + 2, 3)));
  EXPECT_EQ(Send(pull).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(BadInputTest, MoreItemsThanAnyHonestRequestHas) {
  v1::PullRequest pull = GoodPull();
  for (int i = 0; i < (1 << 20) + 1; ++i) pull.mutable_partitions(0)->add_blocks(0);
  EXPECT_EQ(Send(pull).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(BadInputTest, RoundsOfAJobThatHasNone) {
  v1::OpenRoundRequest open;
  SetHeader(*open.mutable_header());
  EXPECT_EQ(SendBytes("OpenRound", open.SerializeAsString()).code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace capstan
