#include "capstan/rpc/flood_guard.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

namespace capstan {
namespace {

// The guard of a port with one connection, which nobody reads.
class FloodGuardTest : public testing::Test {
 protected:
  FloodGuardTest() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(listen(listener, 1), 0);
    sockaddr_in address;
    socklen_t length = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    getsockname(listener, any, &length);
    client_ = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(connect(client_, any, length), 0);
    accepted_ = accept(listener, nullptr, nullptr);
    close(listener);
    guard_.Watch(ntohs(address.sin_port));
  }
  ~FloodGuardTest() override {
    EndCalls(static_cast<int64_t>(calls_.size()));
    close(client_);
    close(accepted_);
  }

  void Send(size_t bytes) {
    const std::string data(bytes, 'x');
    ASSERT_EQ(send(client_, data.data(), bytes, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
    std::string come(bytes, ' ');
    recv(accepted_, come.data(), bytes, MSG_PEEK | MSG_WAITALL);
  }
  void BeginCalls(int64_t calls) {
    for (int64_t i = 0; i < calls; ++i) {
      calls_.push_back(guard_.NewCallbackServerContext());
      EXPECT_NE(calls_.back(), nullptr);
    }
  }
  void EndCalls(int64_t calls) {
    for (int64_t i = 0; i < calls; ++i) {
      guard_.Release(calls_.back());
      calls_.pop_back();
    }
  }
  bool Connected() const {
    char byte;
    return recv(client_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == -1 && errno == EAGAIN;
  }

  FloodGuard guard_{/*max_streams_per_connection=*/128};
  std::vector<grpc::CallbackServerContext*> calls_;
  int client_ = -1, accepted_ = -1;
};

TEST_F(FloodGuardTest, EndsAConnectionThatHasMoreCallsThanStreamsAndMoreToRead) {
  Send(FloodGuard::kUnreadBytes);
  BeginCalls(FloodGuard::kFreeCalls);
  EXPECT_TRUE(Connected());
  BeginCalls(1);
  EXPECT_FALSE(Connected());
}

TEST_F(FloodGuardTest, LeavesAConnectionWithASmallCallToRead) {
  Send(FloodGuard::kUnreadBytes - 1);
  BeginCalls(FloodGuard::kFreeCalls + 1);
  EXPECT_TRUE(Connected());
}

TEST_F(FloodGuardTest, CountsOnlyTheCallsThatHaveNotEnded) {
  Send(FloodGuard::kUnreadBytes);
  for (int i = 0; i < 3; ++i) {
    BeginCalls(FloodGuard::kFreeCalls);
    EndCalls(FloodGuard::kFreeCalls);
  }
  EXPECT_TRUE(Connected());
}

TEST_F(FloodGuardTest, GrantsAsManyCallsAsTheConnectionsMayHave) {
  FloodGuard generous(/*max_streams_per_connection=*/FloodGuard::kFreeCalls);
  sockaddr_in address;
  socklen_t length = sizeof(address);
  getsockname(accepted_, reinterpret_cast<sockaddr*>(&address), &length);
  generous.Watch(ntohs(address.sin_port));
  Send(FloodGuard::kUnreadBytes);
  std::vector<std::unique_ptr<grpc::CallbackServerContext>> calls;
  for (int64_t i = 0; i < 2 * FloodGuard::kFreeCalls; ++i) {
    calls.emplace_back(generous.NewCallbackServerContext());
  }
  EXPECT_TRUE(Connected());
}

}  // namespace
}  // namespace capstan
