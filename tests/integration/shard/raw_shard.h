// A shard and raw requests to it: good ones, which a test then spoils.
#ifndef CAPSTAN_TESTS_INTEGRATION_SHARD_RAW_SHARD_H_
#define CAPSTAN_TESTS_INTEGRATION_SHARD_RAW_SHARD_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/ps.pb.h"
#include "tests/integration/shard/counting_client.h"
#include "tests/integration/shard/local_shard.h"

namespace capstan {

std::string Packed(const std::vector<uint64_t>& keys);
std::string Packed(const std::vector<float>& floats);

// Shards of SmallJob(kColumns, kColumns) and an honest client beside the raw requests, which go to
// the first one.
class RawShardTest : public testing::Test {
 protected:
  static constexpr uint32_t kColumns = 64;
  static constexpr uint32_t kRows = 50;

  explicit RawShardTest(int shards = 1);

  // A push and a pull of row 3 that are answered OK as they are.
  v1::PushRequest GoodPush() const;
  v1::PullRequest GoodPull() const;
  static v1::TableGradient& Rows(v1::PushRequest& push) {
    return *push.mutable_partitions(0)->mutable_tables(0);
  }
  static v1::TableKeys& Keys(v1::PullRequest& pull) {
    return *pull.mutable_partitions(0)->mutable_tables(0);
  }
  void SetHeader(v1::RequestHeader& header) const;
  uint32_t HomeOf(uint64_t key) const;

  absl::StatusOr<std::string> Call(const std::string& method, const std::string& bytes);
  absl::Status SendBytes(const std::string& method, const std::string& bytes) {
    return Call(method, bytes).status();
  }
  absl::Status Send(const v1::PushRequest& push) {
    return SendBytes("Push", push.SerializeAsString());
  }
  absl::Status Send(const v1::PullRequest& pull) {
    return SendBytes("Pull", pull.SerializeAsString());
  }
  // What became of the rows of a push that is answered OK.
  v1::Outcome OutcomeOf(const v1::PushRequest& push);
  std::vector<float> RowOf(uint64_t key);

  // Of capstan_gradients_rejected_total.
  double Rejected(const std::string& reason);
  // The push is refused with this code, and counted.
  void ExpectRefused(const v1::PushRequest& push, absl::StatusCode code, const std::string& reason);

  LocalShards shards_;
  CountingClient client_;
  Channel channel_;
  EventLoop loop_;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_INTEGRATION_SHARD_RAW_SHARD_H_
