#include "chief/shell/chief_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/base/wire_version.h"
#include "capstan/metrics/registry.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/server.h"
#include "capstan/rpc/status.h"
#include "capstan/security/shard_secret.h"
#include "chief/shell/control_loop.h"
#include "chief/shell/curve_file.h"
#include "chief/shell/store_thread.h"
#include "tests/unit/chief/crew_job.h"

namespace capstan::chief {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// A chief on loopback whose job is not stored, and for which no time passes.
class ChiefServiceTest : public testing::Test {
 protected:
  ChiefServiceTest() { door_.Open(control_); }

  // `former`: the incarnation whose place it may take at once; 0: of none.
  absl::StatusCode RegisterWorker(const std::string& name, uint64_t incarnation,
                                  uint64_t former = 0) {
    v1::RegisterWorkerRequest request;
    request.set_wire_version(kWireVersion);
    request.set_name(name);
    request.set_incarnation(incarnation);
    request.set_former(former);
    grpc::ClientContext context;
    v1::RegisterWorkerReply reply;
    return FromGrpcStatus(stub_->RegisterWorker(&context, request, &reply)).code();
  }

  // What the log says while `order(context)` is called.
  template <typename Order>
  static std::string LoggedBy(Order order) {
    grpc::ClientContext context;
    testing::internal::CaptureStderr();
    order(&context);
    return testing::internal::GetCapturedStderr();
  }

  std::string LoggedByStop(const std::string& reason) {
    v1::StopJobRequest request;
    request.set_reason(reason);
    return LoggedBy([&](grpc::ClientContext* context) {
      v1::StopJobReply reply;
      EXPECT_TRUE(stub_->StopJob(context, request, &reply).ok());
    });
  }

  // The job has not begun, so the order is refused; that it was given is logged all the same.
  std::string LoggedByRebalance(bool plan_only) {
    v1::RebalanceRequest request;
    request.set_plan_only(plan_only);
    return LoggedBy([&](grpc::ClientContext* context) {
      v1::RebalanceReply reply;
      EXPECT_EQ(FromGrpcStatus(stub_->Rebalance(context, request, &reply)).code(),
                absl::StatusCode::kFailedPrecondition);
    });
  }

  absl::StatusCode RegisterShard(uint32_t index, uint64_t incarnation,
                                 const std::string& secret = "") {
    v1::RegisterShardRequest request;
    request.set_secret(secret);
    request.set_wire_version(kWireVersion);
    request.set_index(index);
    request.set_address("127.0.0.1:7000");
    request.set_incarnation(incarnation);
    grpc::ClientContext context;
    v1::RegisterShardReply reply;
    return FromGrpcStatus(stub_->RegisterShard(&context, request, &reply)).code();
  }

  absl::StatusCode ShardHeartbeat(uint32_t index, uint64_t incarnation, const std::string& secret) {
    v1::ShardHeartbeatRequest request;
    request.set_index(index);
    request.set_incarnation(incarnation);
    request.set_secret(secret);
    grpc::ClientContext context;
    v1::ShardHeartbeatReply reply;
    return FromGrpcStatus(stub_->ShardHeartbeat(&context, request, &reply)).code();
  }

  // A stream that watches the view as the shard; it ends when `context` is cancelled.
  std::unique_ptr<grpc::ClientReader<v1::View>> Watch(grpc::ClientContext& context, uint32_t shard,
                                                      uint64_t incarnation,
                                                      const std::string& secret = "") {
    v1::WatchViewRequest request;
    request.set_shard(shard);
    request.set_shard_incarnation(incarnation);
    request.set_secret(secret);
    return stub_->WatchView(&context, request);
  }
  static void End(grpc::ClientContext& context, grpc::ClientReader<v1::View>& stream) {
    context.TryCancel();
    v1::View view;
    while (stream.Read(&view)) continue;
    EXPECT_FALSE(stream.Finish().ok());
  }

  // The feed learns of a stream's beginning and end on threads of gRPC's.
  void UntilWatching(uint64_t incarnation, bool watching) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (views_.IsWatching(incarnation) != watching) {
      ASSERT_LT(absl::Now(), deadline);
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

  const CrewOptions options_;
  const FakeClock clock_;
  metrics::Registry registry_;
  ChiefMetrics metrics_{registry_, PlanOf(options_).spec, /*shards=*/2};
  StoreThread housekeeping_{/*most_waiting=*/4};
  const std::unique_ptr<CurveFile> curve_ =
      *OpenCurveFile(PlanOf(options_).spec, /*anew=*/true, housekeeping_);
  ViewFeed views_{8};
  ModelIntake intake_{clock_};
  ChiefDoor door_{{.views = views_, .models = intake_, .clock = clock_}};
  ChiefService service_{door_, intake_, /*tls=*/nullptr};
  ControlLoop control_{
      ChiefMachine({.seal_key = "the key", .shards = 2}, PlanOf(options_), clock_.Now()),
      {.clock = clock_,
       .views = views_,
       .curve = *curve_,
       .store = nullptr,
       .housekeeping = housekeeping_,
       .metrics = metrics_}};
  const std::unique_ptr<Server> server_ = *Server::Start({.listen = "127.0.0.1:0"}, {&service_});
  const std::unique_ptr<v1::Chief::Stub> stub_ =
      v1::Chief::NewStub(NewPlainChannel(absl::StrCat("127.0.0.1:", server_->port())));
};

TEST_F(ChiefServiceTest, RegistrationsThatAreRefusedOrRepeatedCostAnAddressNothing) {
  ASSERT_EQ(RegisterWorker("w", 1), absl::StatusCode::kOk);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(RegisterWorker("w", 2), absl::StatusCode::kUnavailable) << "the other one is there";
  }
  for (int i = 0; i < 1100; ++i) ASSERT_EQ(RegisterWorker("w", 1), absl::StatusCode::kOk);
  EXPECT_EQ(RegisterWorker("x", 3), absl::StatusCode::kOk);
}

TEST_F(ChiefServiceTest, AnAddressMayTakeOnlySoManyNumbersInAShortTime) {
  uint64_t given = 0;
  absl::StatusCode answer = absl::StatusCode::kOk;
  while (given < 5000 && answer == absl::StatusCode::kOk) {
    answer = RegisterWorker("w", given + 1, given);
    if (answer == absl::StatusCode::kOk) ++given;
  }
  EXPECT_EQ(answer, absl::StatusCode::kResourceExhausted);
  EXPECT_GE(given, 1024u);
}

TEST_F(ChiefServiceTest, TheLogSaysWhoHasAskedToMovePartitionsOrHowTheyWouldMove) {
  EXPECT_THAT(LoggedByRebalance(/*plan_only=*/false),
              ContainsRegex("asked to move partitions by=\"?ipv4:127\\.0\\.0\\.1:[0-9]+"));
  EXPECT_THAT(LoggedByRebalance(/*plan_only=*/true),
              ContainsRegex("asked for a plan of moves by=\"?ipv4:127\\.0\\.0\\.1:[0-9]+"));
}

TEST_F(ChiefServiceTest, TheLogSaysWhoHasStoppedTheJobAndWhy) {
  EXPECT_THAT(LoggedByStop("enough"), ContainsRegex("asked to stop the job reason=enough "
                                                    "by=\"?ipv4:127\\.0\\.0\\.1:[0-9]+"));
}

TEST_F(ChiefServiceTest, AReasonWithoutEndIsLoggedInPart) {
  EXPECT_THAT(LoggedByStop(std::string(1024, 'a') + "bcd"), ContainsRegex("reason=a+ by="));
}

TEST_F(ChiefServiceTest, AReasonCannotForgeALineOfTheLogOrSteerATerminal) {
  const std::string logged = LoggedByStop("enough\nERROR \x1b[2J by=\"somebody else\"");
  EXPECT_THAT(logged, HasSubstr(R"(reason="enough\nERROR )"));
  EXPECT_THAT(logged, HasSubstr(R"(by=\"somebody else\"" by=)"));
  EXPECT_THAT(logged, Not(HasSubstr("\x1b")));
}

TEST_F(ChiefServiceTest, AShardKeepsItsPlaceForAsLongAsItWatchesTheView) {
  ASSERT_EQ(RegisterShard(0, 1), absl::StatusCode::kOk);
  grpc::ClientContext watch;
  const auto stream = Watch(watch, 0, 1);
  UntilWatching(1, true);
  EXPECT_EQ(RegisterShard(0, 2), absl::StatusCode::kUnavailable);
  EXPECT_EQ(RegisterShard(0, 1), absl::StatusCode::kOk) << "it is the one that has the place";
  End(watch, *stream);
  UntilWatching(1, false);
  EXPECT_EQ(RegisterShard(0, 2), absl::StatusCode::kOk);
}

TEST_F(ChiefServiceTest, OnlyWhoSaysThatItReadsDifferencesIsSentThem) {
  v1::View view;
  view.mutable_epoch()->set_term(9);  // Newer than all that the chief has published.
  for (uint32_t i = 0; i < 100; ++i) view.add_owners(i);
  for (const bool differences : {false, true}) {
    view.mutable_epoch()->set_n(view.epoch().n() + 1);
    views_.Publish(view);
    grpc::ClientContext watch;
    v1::WatchViewRequest request;
    request.set_differences(differences);
    const auto stream = stub_->WatchView(&watch, request);
    v1::View message;
    ASSERT_TRUE(stream->Read(&message));
    EXPECT_EQ(message.owners_size(), view.owners_size()) << "the first is whole";
    view.add_owners(0);
    view.mutable_epoch()->set_n(view.epoch().n() + 1);
    views_.Publish(view);
    ASSERT_TRUE(stream->Read(&message));
    EXPECT_EQ(message.has_difference(), differences);
    EXPECT_EQ(message.owners_size(), differences ? 0 : view.owners_size());
    watch.TryCancel();
    while (stream->Read(&message)) continue;
    EXPECT_FALSE(stream->Finish().ok());
  }
}

TEST_F(ChiefServiceTest, WhoActsForAShardWithoutItsSecretIsRefusedAndTheLogSaysWho) {
  const std::string secret = "its own";
  const uint64_t incarnation = Raw(IncarnationOfSecret(secret));
  ASSERT_EQ(RegisterShard(0, incarnation, secret), absl::StatusCode::kOk);
  for (const char* shown : {"", "another one"}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(ShardHeartbeat(0, incarnation, shown), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                ContainsRegex("without the secret of its process shard=0 "
                              "by=\"?ipv4:127\\.0\\.0\\.1:[0-9]+"));
    testing::internal::CaptureStderr();
    EXPECT_EQ(RegisterShard(0, incarnation, shown), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                ContainsRegex("without the secret of its process shard=0 "));
  }
  EXPECT_EQ(RegisterShard(0, incarnation, secret), absl::StatusCode::kOk);
  EXPECT_EQ(ShardHeartbeat(0, incarnation, secret), absl::StatusCode::kOk);
}

TEST_F(ChiefServiceTest, AWatchWithoutTheSecretOfAShardIsNotThatOfTheShard) {
  const std::string secret = "its own";
  const uint64_t incarnation = Raw(IncarnationOfSecret(secret));
  ASSERT_EQ(RegisterShard(0, incarnation, secret), absl::StatusCode::kOk);
  grpc::ClientContext of_another;
  const auto other = Watch(of_another, 0, incarnation);
  grpc::ClientContext own;
  const auto stream = Watch(own, 0, incarnation, secret);
  UntilWatching(incarnation, true);
  End(own, *stream);
  UntilWatching(incarnation, false);  // The other one goes on.
  End(of_another, *other);
}

}  // namespace
}  // namespace capstan::chief
