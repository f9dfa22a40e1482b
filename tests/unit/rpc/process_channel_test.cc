#include "capstan/rpc/process_channel.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(ProcessChannelTest, KeepsTheChannelOfAProcessAndGivesAnotherOneItsOwn) {
  ProcessChannel shard;
  shard.LeadTo("127.0.0.1:1", 7);
  const Channel first = shard.channel();
  ASSERT_NE(first, nullptr);
  shard.LeadTo("127.0.0.1:1", 7);
  EXPECT_EQ(shard.channel(), first);
  shard.LeadTo("127.0.0.1:1", 8);
  const Channel restarted = shard.channel();
  EXPECT_NE(restarted, first);
  EXPECT_EQ(shard.incarnation(), 8u);
  shard.LeadTo("127.0.0.1:2", 8);
  EXPECT_NE(shard.channel(), restarted);
}

}  // namespace
}  // namespace capstan
