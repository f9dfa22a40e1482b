#include "capstan/rpc/process_channels.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(ProcessChannelsTest, WhoeverAsksForTheSameProcessSharesItsChannel) {
  ProcessChannels channels(/*tls=*/nullptr);
  const Channel first = channels.To("127.0.0.1:1", 7);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(channels.To("127.0.0.1:1", 7), first);
}

TEST(ProcessChannelsTest, AnotherProcessGetsAChannelOfItsOwn) {
  ProcessChannels channels(/*tls=*/nullptr);
  const Channel first = channels.To("127.0.0.1:1", 7);
  const Channel restarted = channels.To("127.0.0.1:1", 8);
  EXPECT_NE(restarted, first);
  EXPECT_NE(channels.To("127.0.0.1:2", 8), restarted);
}

TEST(ProcessChannelsTest, AChannelEndsWithTheLastWhoHoldsIt) {
  ProcessChannels channels(/*tls=*/nullptr);
  std::weak_ptr<grpc::Channel> first = channels.To("127.0.0.1:1", 7);
  EXPECT_TRUE(first.expired());
}

}  // namespace
}  // namespace capstan
