#include "tests/integration/shard/raw_shard.h"

#include <cstring>
#include <optional>
#include <utility>

#include "capstan/base/wire_version.h"
#include "capstan/placement/placement.h"

namespace capstan {
namespace {

std::string TextOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  (void)buffer.Dump(&slices);
  std::string text;
  for (const grpc::Slice& slice : slices) text.append(slice.begin(), slice.end());
  return text;
}

}  // namespace

std::string Packed(const std::vector<uint64_t>& keys) {
  return {reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(uint64_t)};
}

std::string Packed(const std::vector<float>& floats) {
  return {reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)};
}

RawShardTest::RawShardTest(int shards)
    : shards_(SmallJob(kColumns, kColumns), shards),
      client_(shards_.job(), shards_.view(), 0, kRows),
      channel_(NewChannel(shards_.view().shards(0).address(), Role::kPs, /*tls=*/nullptr)) {}

v1::PushRequest RawShardTest::GoodPush() const {
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

v1::PullRequest RawShardTest::GoodPull() const {
  v1::PullRequest pull;
  SetHeader(*pull.mutable_header());
  v1::PartitionPull& partition = *pull.add_partitions();
  partition.set_partition(HomeOf(3));
  partition.add_tables()->set_table(1);
  partition.mutable_tables(0)->set_keys(Packed(std::vector<uint64_t>{3}));
  return pull;
}

void RawShardTest::SetHeader(v1::RequestHeader& header) const {
  header.set_wire_version(kWireVersion);
  *header.mutable_epoch() = shards_.view().epoch();
  header.set_timeline(shards_.view().timeline());
  header.set_target_incarnation(shards_.view().shards(0).incarnation());
}

uint32_t RawShardTest::HomeOf(uint64_t key) const {
  return static_cast<uint32_t>(
      Raw(PartitionOfKey(key, shards_.job().tables(0).seed(), shards_.job().partition_count())));
}

absl::StatusOr<std::string> RawShardTest::Call(const std::string& method,
                                               const std::string& bytes) {
  const grpc::Slice slice(bytes);
  std::optional<absl::StatusOr<std::string>> answer;
  loop_.Call(channel_, "/capstan.v1.Ps/" + method, grpc::ByteBuffer(&slice, 1), absl::Seconds(30),
             [&answer](const absl::StatusOr<grpc::ByteBuffer>& reply) {
               if (reply.ok()) {
                 answer = TextOf(*reply);
               } else {
                 answer = reply.status();
               }
             });
  while (!answer) loop_.Poll(absl::Seconds(1));
  return *std::move(answer);
}

v1::Outcome RawShardTest::OutcomeOf(const v1::PushRequest& push) {
  const absl::StatusOr<std::string> answer = Call("Push", push.SerializeAsString());
  EXPECT_TRUE(answer.ok()) << answer.status();
  v1::PushReply reply;
  EXPECT_TRUE(answer.ok() && reply.ParseFromString(*answer) && reply.partitions_size() == 1);
  return reply.partitions_size() == 1 ? reply.partitions(0).sparse() : v1::OUTCOME_UNSPECIFIED;
}

std::vector<float> RawShardTest::RowOf(uint64_t key) {
  v1::PullRequest pull = GoodPull();
  pull.mutable_partitions(0)->set_partition(HomeOf(key));
  Keys(pull).set_keys(Packed(std::vector<uint64_t>{key}));
  const absl::StatusOr<std::string> answer = Call("Pull", pull.SerializeAsString());
  v1::PullReply reply;
  EXPECT_TRUE(answer.ok() && reply.ParseFromString(*answer)) << answer.status();
  std::vector<float> row(kColumns);
  std::memcpy(row.data(), reply.partitions(0).tables(0).values().data(), kColumns * sizeof(float));
  return row;
}

double RawShardTest::Rejected(const std::string& reason) {
  const std::string text = shards_.at(0).Metrics();
  const std::string line = "capstan_gradients_rejected_total{reason=\"" + reason + "\"} ";
  const size_t at = text.find(line);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size()));
}

void RawShardTest::ExpectRefused(const v1::PushRequest& push, absl::StatusCode code,
                                 const std::string& reason) {
  const double rejected = Rejected(reason);
  const absl::Status status = Send(push);
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_EQ(Rejected(reason), rejected + 1) << reason;
}

}  // namespace capstan
