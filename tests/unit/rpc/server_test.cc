#include "capstan/rpc/server.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "capstan/rpc/status.h"
#include "tests/unit/rpc/echo_service.h"

namespace capstan {
namespace {

TEST(ServerTest, RefusesAPortThatIsTaken) {
  TestServer first;
  EchoPs ps;
  auto second = Server::Start({.listen = absl::StrCat("127.0.0.1:", first.server->port())}, {&ps});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(second.status().message(), testing::HasSubstr("the port is in use"));
}

TEST(ServerTest, OneThatListensOnAllAddressesAlsoTakesConnectionsOfIpV4) {
  EchoPs ps;
  const auto server = Server::Start({.listen = "0.0.0.0:0"}, {&ps});
  ASSERT_TRUE(server.ok()) << server.status();
  auto stub = v1::Ps::NewStub(NewPlainChannel(absl::StrCat("127.0.0.1:", (*server)->port())));
  v1::FlushReply reply;
  grpc::ClientContext context;
  EXPECT_TRUE(stub->Flush(&context, v1::FlushRequest(), &reply).ok());
}

TEST(ServerTest, SaysWhichAddressCannotBeHad) {
  EchoPs ps;
  for (const char* address : {"203.0.113.7:0", "nowhere"}) {
    const auto server = Server::Start({.listen = address}, {&ps});
    ASSERT_FALSE(server.ok());
    EXPECT_THAT(server.status().message(), testing::HasSubstr(address));
  }
}

TEST(ServerTest, AnswersAMessageAboveTheLimitWithResourceExhausted) {
  TestServer server;
  auto stub = v1::Ps::NewStub(server.Connect());
  v1::PullRequest request;
  request.add_partitions()->add_tables()->set_keys(std::string((64 << 20) + 1, 'k'));
  v1::PullReply reply;
  grpc::ClientContext context;
  EXPECT_EQ(stub->Pull(&context, request, &reply).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// Remembers how often it has been called, and from which addresses.
class Visited final : public v1::Ps::Service {
 public:
  grpc::Status Flush(grpc::ServerContext* context, const v1::FlushRequest*,
                     v1::FlushReply*) override {
    absl::MutexLock lock(&mu_);
    ++calls_;
    peers_.insert(context->peer());
    return grpc::Status::OK;
  }

  int calls() {
    absl::MutexLock lock(&mu_);
    return calls_;
  }
  size_t peers() {
    absl::MutexLock lock(&mu_);
    return peers_.size();
  }

 private:
  absl::Mutex mu_;
  int calls_ ABSL_GUARDED_BY(mu_) = 0;
  std::set<std::string> peers_ ABSL_GUARDED_BY(mu_);
};

// A watch that goes on until it is cancelled.
class EndlessWatch final : public v1::Chief::Service {
 public:
  grpc::Status WatchView(grpc::ServerContext* context, const v1::WatchViewRequest*,
                         grpc::ServerWriter<v1::View>*) override {
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(5));
    return grpc::Status::CANCELLED;
  }
};

// A call that meets the end of its connection on the way may come back (grpc/grpc#31733), before
// anybody has heard of it: our channels repeat nothing by themselves.
TEST(ServerTest, AConnectionThatHasGrownOldIsReplacedAndNoCallIsHeardInVain) {
  Visited ps;
  const auto server =
      Server::Start({.listen = "127.0.0.1:0", .connection_age = absl::Milliseconds(100)}, {&ps});
  ASSERT_TRUE(server.ok()) << server.status();
  auto stub = v1::Ps::NewStub(NewPlainChannel(absl::StrCat("127.0.0.1:", (*server)->port())));
  const absl::Time end = absl::Now() + absl::Seconds(30);
  int answered = 0;
  size_t returned = 0;
  while (ps.peers() < 4 && absl::Now() < end) {
    v1::FlushReply reply;
    grpc::ClientContext context;
    const grpc::Status called = stub->Flush(&context, v1::FlushRequest(), &reply);
    if (called.ok()) {
      ++answered;
    } else {
      ASSERT_EQ(called.error_code(), grpc::StatusCode::UNAVAILABLE) << called.error_message();
      ++returned;
    }
  }
  EXPECT_GE(ps.peers(), 4);
  EXPECT_EQ(ps.calls(), answered);
  EXPECT_LE(returned, ps.peers()) << "one a connection at the most";
}

TEST(ServerTest, AStreamEndsWithItsOldConnectionAfterTheGrace) {
  EndlessWatch chief;
  const auto server = Server::Start({.listen = "127.0.0.1:0",
                                     .connection_age = absl::Milliseconds(100),
                                     .connection_grace = absl::Milliseconds(100)},
                                    {&chief});
  ASSERT_TRUE(server.ok()) << server.status();
  auto stub = v1::Chief::NewStub(NewPlainChannel(absl::StrCat("127.0.0.1:", (*server)->port())));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
  auto reader = stub->WatchView(&context, v1::WatchViewRequest());
  v1::View view;
  EXPECT_FALSE(reader->Read(&view));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(StatusTest, SurvivesTheDoorInBothDirections) {
  absl::Status status = absl::FailedPreconditionError("not my partition");
  EXPECT_EQ(FromGrpcStatus(ToGrpcStatus(status)), status);
  EXPECT_TRUE(FromGrpcStatus(ToGrpcStatus(absl::OkStatus())).ok());
}

TEST(StatusTest, CarriesAHintWhenToComeAgain) {
  const absl::Status full = absl::ResourceExhaustedError("the queue is full");
  EXPECT_EQ(RetryAfter(full), absl::ZeroDuration());
  EXPECT_EQ(RetryAfter(WithRetryAfter(full, absl::Milliseconds(250))), absl::Milliseconds(250));
}

}  // namespace
}  // namespace capstan
