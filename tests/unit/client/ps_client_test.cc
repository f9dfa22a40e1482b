#include "capstan/client/ps_client.h"

#include <gtest/gtest.h>

#include <optional>

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

}  // namespace
}  // namespace capstan
