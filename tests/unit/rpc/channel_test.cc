#include "capstan/rpc/channel.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/ps.grpc.pb.h"

namespace capstan {
namespace {

// Answers, and notes from which ends of connections it was called.
class NotesPeers final : public v1::Ps::CallbackService {
 public:
  grpc::ServerUnaryReactor* Flush(grpc::CallbackServerContext* context, const v1::FlushRequest*,
                                  v1::FlushReply*) override {
    {
      absl::MutexLock lock(&mu_);
      ++calls_;
      peers_.insert(context->peer());
    }
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(answer_ok ? grpc::Status::OK
                              : grpc::Status(grpc::StatusCode::UNAVAILABLE, "not now"));
    return reactor;
  }
  size_t peers() const {
    absl::MutexLock lock(&mu_);
    return peers_.size();
  }
  int calls() const {
    absl::MutexLock lock(&mu_);
    return calls_;
  }

  std::atomic<bool> answer_ok = true;

 private:
  mutable absl::Mutex mu_;
  std::set<std::string> peers_ ABSL_GUARDED_BY(mu_);
  int calls_ ABSL_GUARDED_BY(mu_) = 0;
};

class ChannelTest : public testing::Test {
 protected:
  static std::unique_ptr<Server> Listen(NotesPeers& service, int port = 0) {
    auto server = Server::Start({.listen = absl::StrCat("127.0.0.1:", port)}, {&service});
    EXPECT_TRUE(server.ok()) << server.status();
    return server.ok() ? *std::move(server) : nullptr;
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

  // `wait`: until there is a connection, for half a minute at most.
  static grpc::Status Call(const Channel& channel, bool wait = false) {
    grpc::ClientContext context;
    context.set_wait_for_ready(wait);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    v1::FlushReply reply;
    return v1::Ps::NewStub(channel)->Flush(&context, {}, &reply);
  }

  NotesPeers service_;
  std::unique_ptr<Server> server_ = Listen(service_);
};

TEST_F(ChannelTest, ACallToNobodyFailsAndMakingItsChannelDoesNot) {
  for (const char* nobody : {"127.0.0.1:1", "unix:/nowhere/at/all"}) {
    const Channel channel = NewPlainChannel(nobody);
    ASSERT_NE(channel, nullptr) << nobody;
    EXPECT_EQ(Call(channel).error_code(), grpc::StatusCode::UNAVAILABLE) << nobody;
  }
}

TEST_F(ChannelTest, WithoutAnIdentityAChannelIsPlaintextWhateverItsPeer) {
  for (const Role peer : {Role::kChief, Role::kPs}) {
    EXPECT_TRUE(Call(NewChannel(address(), peer, /*tls=*/nullptr)).ok());
  }
}

TEST_F(ChannelTest, TheCallsOfAChannelShareAConnectionAndChannelsDoNot) {
  const Channel first = NewPlainChannel(address());
  const Channel second = NewPlainChannel(address());
  ASSERT_TRUE(Call(first).ok());
  ASSERT_TRUE(Call(first).ok());
  EXPECT_EQ(service_.peers(), 1u);
  ASSERT_TRUE(Call(second).ok());
  EXPECT_EQ(service_.peers(), 2u);
}

TEST_F(ChannelTest, AChannelConnectsAgainWhenItsServerIsBack) {
  const Channel channel = NewPlainChannel(address());
  ASSERT_TRUE(Call(channel).ok());
  const int port = server_->port();
  server_.reset();
  EXPECT_EQ(Call(channel).error_code(), grpc::StatusCode::UNAVAILABLE);
  server_ = Listen(service_, port);
  ASSERT_NE(server_, nullptr);
  const grpc::Status again = Call(channel, /*wait=*/true);
  EXPECT_TRUE(again.ok()) << again.error_message();
}

TEST_F(ChannelTest, ACallThatFailsIsNotRepeatedByTheChannel) {
  service_.answer_ok = false;
  const grpc::Status refused = Call(NewPlainChannel(address()));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(refused.error_message(), "not now");
  EXPECT_EQ(service_.calls(), 1);
}

TEST_F(ChannelTest, AProxyOfTheEnvironmentIsNotAsked) {
  setenv("grpc_proxy", "http://127.0.0.1:1", /*overwrite=*/1);
  const grpc::Status status = Call(NewPlainChannel(address()));
  unsetenv("grpc_proxy");
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace capstan
