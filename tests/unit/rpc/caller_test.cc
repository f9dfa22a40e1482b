#include "capstan/rpc/caller.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/ps.grpc.pb.h"

namespace capstan {
namespace {

using testing::IsEmpty;
using testing::StartsWith;

// Answers Flush, and notes who has asked.
class NotesItsCaller final : public v1::Ps::CallbackService {
 public:
  grpc::ServerUnaryReactor* Flush(grpc::CallbackServerContext* context, const v1::FlushRequest*,
                                  v1::FlushReply*) override {
    const absl::MutexLock lock(&mu);
    caller = CallerOf(*context);
    host = PeerHost(*context);
    names = CertifiedNames(*context);
    may_act = MayActForShard(*context, /*own=*/nullptr, /*shard=*/3);
    may_train = MayTrain(*context, /*own=*/nullptr);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  absl::Mutex mu;
  std::string caller;
  std::string host;
  std::vector<std::string> names = {"of nobody yet"};
  bool may_act = false;
  bool may_train = false;
};

TEST(CallerTest, WithoutTlsTheCallerIsItsAddressAndMayWhatItWants) {
  NotesItsCaller service;
  const auto server = Server::Start({.listen = "127.0.0.1:0"}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto stub = v1::Ps::NewStub(NewPlainChannel(absl::StrCat("127.0.0.1:", (*server)->port())));
  v1::FlushReply reply;
  grpc::ClientContext context;
  ASSERT_TRUE(stub->Flush(&context, v1::FlushRequest(), &reply).ok());
  const absl::MutexLock lock(&service.mu);
  EXPECT_THAT(service.names, IsEmpty());
  EXPECT_EQ(service.host, "ipv4:127.0.0.1") << "without the port";
  EXPECT_THAT(service.caller, StartsWith("ipv4:127.0.0.1:"));
  EXPECT_TRUE(service.may_act);
  EXPECT_TRUE(service.may_train);
}

}  // namespace
}  // namespace capstan
