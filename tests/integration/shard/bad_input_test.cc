// What a shard must survive: each bad request gets the right status, changes nothing, moves a
// counter, and harms nobody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "capstan/base/wire_version.h"
#include "capstan/placement/placement.h"
#include "capstan/rpc/event_loop.h"
#include "tests/integration/shard/counting_client.h"
#include "tests/integration/shard/local_shard.h"

namespace capstan {
namespace {

using testing::HasSubstr;

constexpr uint32_t kColumns = 64;
constexpr uint32_t kRows = 50;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string Packed(const std::vector<uint64_t>& keys) {
  return {reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(uint64_t)};
}
std::string Packed(const std::vector<float>& floats) {
  return {reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)};
}

class BadInputTest : public testing::Test {
 protected:
  BadInputTest()
      : shards_(SmallJob(kColumns, kColumns), 1),
        client_(shards_.job(), shards_.view(), 0, kRows),
        channel_(NewChannel(shards_.view().shards(0).address())) {
    EXPECT_TRUE(client_.Push().ok());
    before_ = *client_.Pull();
    version_ = shards_.at(0).shard().Facts().version;
  }

  // Nothing that a test has sent may have changed anything, and others go on.
  ~BadInputTest() override {
    EXPECT_EQ(*client_.Pull(), before_) << "state has changed";
    EXPECT_EQ(shards_.at(0).shard().Facts().version, version_);
    EXPECT_TRUE(client_.Push().ok());
  }

  // A push of key 3 that would be applied if nothing were wrong with it.
  v1::PushRequest GoodPush() const {
    v1::PushRequest push;
    SetHeader(*push.mutable_header());
    push.mutable_stream()->set_stream(StreamId::Task(9, 9).value);
    push.set_examples(1);
    v1::PartitionGradient& partition = *push.add_partitions();
    partition.set_partition(HomeOf(3));
    v1::TableGradient& rows = *partition.add_tables();
    rows.set_table(1);
    rows.set_keys(Packed(std::vector<uint64_t>{3}));
    rows.set_values(Packed(std::vector<float>(kColumns, 1)));
    return push;
  }

  v1::PullRequest GoodPull() const {
    v1::PullRequest pull;
    SetHeader(*pull.mutable_header());
    v1::PartitionPull& partition = *pull.add_partitions();
    partition.set_partition(HomeOf(3));
    partition.add_tables()->set_table(1);
    partition.mutable_tables(0)->set_keys(Packed(std::vector<uint64_t>{3}));
    return pull;
  }

  static v1::TableGradient& Rows(v1::PushRequest& push) {
    return *push.mutable_partitions(0)->mutable_tables(0);
  }
  static v1::TableKeys& Keys(v1::PullRequest& pull) {
    return *pull.mutable_partitions(0)->mutable_tables(0);
  }

  void SetHeader(v1::RequestHeader& header) const {
    header.set_wire_version(kWireVersion);
    *header.mutable_epoch() = shards_.view().epoch();
    header.set_timeline(shards_.view().timeline());
    header.set_target_incarnation(shards_.view().shards(0).incarnation());
  }

  uint32_t HomeOf(uint64_t key) const {
    return static_cast<uint32_t>(
        Raw(PartitionOfKey(key, shards_.job().tables(0).seed(), shards_.job().partition_count())));
  }

  absl::Status SendBytes(const std::string& method, const std::string& bytes) {
    const grpc::Slice slice(bytes);
    std::optional<absl::Status> status;
    loop_.Call(channel_, "/capstan.v1.Ps/" + method, grpc::ByteBuffer(&slice, 1), absl::Seconds(10),
               [&status](absl::StatusOr<grpc::ByteBuffer> reply) { status = reply.status(); });
    while (!status) loop_.Poll(absl::Seconds(1));
    return *status;
  }
  absl::Status Send(const v1::PushRequest& push) {
    return SendBytes("Push", push.SerializeAsString());
  }
  absl::Status Send(const v1::PullRequest& pull) {
    return SendBytes("Pull", pull.SerializeAsString());
  }

  double Rejected(const std::string& reason) {
    const std::string text = shards_.at(0).Metrics();
    const std::string line = "capstan_gradients_rejected_total{reason=\"" + reason + "\"} ";
    const size_t at = text.find(line);
    return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size()));
  }

  void ExpectRefused(const v1::PushRequest& push, absl::StatusCode code,
                     const std::string& reason) {
    const double rejected = Rejected(reason);
    const absl::Status status = Send(push);
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(Rejected(reason), rejected + 1) << reason;
  }

  LocalShards shards_;
  CountingClient client_;
  Channel channel_;
  EventLoop loop_;
  std::vector<float> before_;
  uint64_t version_ = 0;
};

TEST_F(BadInputTest, BytesThatAreNoMessage) {
  for (const std::string& bytes :
       {std::string("\x32\x7f\x08", 3), std::string(1000, '\xFF'), std::string("\x10\x80", 2)}) {
    EXPECT_EQ(SendBytes("Push", bytes).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(SendBytes("Pull", bytes).code(), absl::StatusCode::kInvalidArgument);
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

TEST_F(BadInputTest, OneNanRefusesTheWholePush) {
  for (float bad :
       {kNan, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    v1::PushRequest push = GoodPush();
    std::vector<float> values(kColumns, 1);
    values.back() = bad;
    Rows(push).set_values(Packed(values));
    ExpectRefused(push, absl::StatusCode::kInvalidArgument, "nan");
  }
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
