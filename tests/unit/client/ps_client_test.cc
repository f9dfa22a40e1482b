#include "capstan/client/ps_client.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "absl/time/clock.h"
#include "capstan/rpc/status.h"
#include "tests/unit/client/fake_job.h"

namespace capstan {
namespace {

ParameterMap SmallMap() {
  v1::JobSpec job;
  job.set_partition_count(2);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(8);
  return *ParameterMap::Create(job);
}

TEST(PsClientTest, AShardThatTheViewDoesNotNameIsRefusedLaterAndNotCalled) {
  const ParameterMap map = SmallMap();
  EventLoop loop;
  PsClient client(loop, map, {});
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(1);
  v1::ShardInfo& shard = *view.add_shards();
  shard.set_index(0);
  shard.set_address("127.0.0.1:1");
  for (int i = 0; i < 2; ++i) view.add_owners(0);
  ASSERT_TRUE(client.SetView(view));
  const RequestPlan plan(map);
  std::optional<PushResult> result;
  client.Push(ShardIndex{3}, plan, {.clock = 1, .empty = true}, {},
              [&result](const PushResult& done) { result = done; });
  EXPECT_FALSE(result) << "not within the call";
  for (int i = 0; i < 100 && !result; ++i) loop.Poll(absl::Milliseconds(10));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status.code(), absl::StatusCode::kFailedPrecondition);
}

class PsClientHintTest : public FakeJobTest {
 protected:
  // How long the client is to wait when a shard hints at so many seconds.
  absl::Duration RetryAfterHintOf(double seconds) {
    {
      absl::MutexLock lock(&shards_[0].mu);
      shards_[0].hint_seconds = seconds;
    }
    const ParameterMap map = *ParameterMap::Create(Job());
    EventLoop loop;
    PsClient client(loop, map, {});
    EXPECT_TRUE(client.SetView(chief_.view));
    const RequestPlan plan(map);
    std::optional<PushResult> result;
    client.Push(ShardIndex{0}, plan, {.clock = 1, .empty = true}, {},
                [&result](const PushResult& done) { result = done; });
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (!result && absl::Now() < deadline) loop.Poll(absl::Milliseconds(10));
    EXPECT_TRUE(result && result->status.ok());
    return result ? result->retry_after : absl::InfiniteDuration();
  }
};

TEST_F(PsClientHintTest, AShardsHintIsBoundedWhateverNumberItIs) {
  using Limits = std::numeric_limits<double>;
  EXPECT_EQ(RetryAfterHintOf(0.25), absl::Milliseconds(250));
  EXPECT_EQ(RetryAfterHintOf(Limits::quiet_NaN()), absl::ZeroDuration());
  EXPECT_EQ(RetryAfterHintOf(-Limits::infinity()), absl::ZeroDuration());
  EXPECT_EQ(RetryAfterHintOf(Limits::infinity()), kLongestRetryHint);
}

}  // namespace
}  // namespace capstan
