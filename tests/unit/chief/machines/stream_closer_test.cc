#include "chief/machines/stream_closer.h"

#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

v1::StreamClose CloseOf(uint64_t stream) {
  v1::StreamClose close;
  close.set_stream(stream);
  return close;
}

class StreamCloserTest : public testing::Test {
 protected:
  // What is sent to a shard now; 0: nothing.
  int Sent(const std::set<uint32_t>& shards, uint32_t to) {
    v1::View view;
    for (uint32_t shard : shards) view.add_shards()->set_index(shard);
    closer_.Advance(shards, absl::Seconds(1), calls_);
    int sent = 0;
    for (const CallShard& call : calls_.TakeDue(view, ShardTable(0, 0), absl::UnixEpoch())) {
      if (call.shard != to) continue;
      sent = call.request.Get<v1::CloseStreamsRequest>().streams_size();
    }
    return sent;
  }
  void Confirm(uint32_t shard) {
    calls_.Cancel<v1::CloseStreamsRequest>(shard);
    closer_.OnClosed(shard);
  }

  StreamCloser closer_;
  ShardCalls calls_;
};

TEST_F(StreamCloserTest, AShardThatComesLaterIsNotToldWhatAllOthersHaveConfirmed) {
  closer_.Add(CloseOf(1));
  EXPECT_EQ(Sent({0, 1}, 0), 1);
  Confirm(0);
  Confirm(1);
  EXPECT_TRUE(closer_.complete());
  closer_.Add(CloseOf(2));
  EXPECT_EQ(Sent({0, 1, 7}, 7), 1) << "its partitions came with the first one closed";
  Confirm(0);
  Confirm(1);
  EXPECT_FALSE(closer_.complete());
  Confirm(7);
  EXPECT_TRUE(closer_.complete());
}

TEST_F(StreamCloserTest, AShardThatHasLeftIsNotWaitedFor) {
  closer_.Add(CloseOf(1));
  (void)Sent({0, 1}, 0);
  Confirm(0);
  EXPECT_FALSE(closer_.complete());
  EXPECT_EQ(Sent({0}, 0), 0);
  EXPECT_TRUE(closer_.complete());
}

}  // namespace
}  // namespace capstan::chief
