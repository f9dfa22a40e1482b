#include "capstan/message/rpc_method.h"

#include <gtest/gtest.h>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/ps.pb.h"

namespace capstan {
namespace {

TEST(RpcMethodTest, AnRpcIsFoundByTheTypeOfItsRequests) {
  EXPECT_EQ(MethodOf(*v1::FlushRequest::descriptor()).full_name(), "capstan.v1.Ps.Flush");
  EXPECT_EQ(MethodOf(*v1::StopJobRequest::descriptor()).full_name(), "capstan.v1.Chief.StopJob");
}

TEST(RpcMethodTest, IsCalledByItsServiceAndItsName) {
  EXPECT_EQ(PathOf(MethodOf(*v1::FlushRequest::descriptor())), "/capstan.v1.Ps/Flush");
}

TEST(RpcMethodTest, AReplyOfItIsMadeWithoutAWordForItsType) {
  const auto reply = NewMessage(*MethodOf(*v1::FlushRequest::descriptor()).output_type());
  EXPECT_NE(dynamic_cast<v1::FlushReply*>(reply.get()), nullptr);
}

TEST(RpcMethodDeathTest, AMessageThatIsNoRequestIsABug) {
  EXPECT_DEATH((void)MethodOf(*v1::FlushReply::descriptor()), "method");
}

}  // namespace
}  // namespace capstan
