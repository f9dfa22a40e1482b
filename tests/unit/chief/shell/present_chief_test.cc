#include "chief/shell/present_chief.h"

#include <grpcpp/support/server_callback.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/process/identity.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "tests/lib/memory_object_store.h"

namespace capstan::chief {
namespace {

// The chief that is asked whether it is there.
class AskedChief final : public v1::Chief::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest*,
                                      v1::GetStatusReply* reply) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    *reply = status;
    const bool starting = asked++ < unavailable;
    reactor->Finish(starting ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "starting") : end);
    return reactor;
  }

  v1::GetStatusReply status;
  grpc::Status end;     // Of each call.
  int unavailable = 0;  // So many calls come too early.
  std::atomic<int> asked{0};
};

// The stored state names a chief on this machine, in term 4.
class PresentChiefTest : public testing::Test {
 protected:
  PresentChiefTest() {
    state_.set_term(4);
    state_.set_chief_host(HostName());
    state_.set_chief_address(absl::StrCat("127.0.0.1:", server_->port()));
    state_.mutable_job()->set_job("present");
    state_.mutable_job()->mutable_checkpoint()->set_uri("/models");
    chief_.status.set_term(4);
    chief_.status.set_curve_uri("/models/present/curve.csv");
  }

  bool IsStillThere(const std::string& own_address = "127.0.0.1:1") {
    return ChiefIsStillThere(store_, state_, own_address, /*tls=*/nullptr);
  }

  AskedChief chief_;
  const std::unique_ptr<Server> server_ = *Server::Start({.listen = "127.0.0.1:0"}, {&chief_});
  JobStore store_{MakeMemoryObjectStore(), nullptr};
  v1::ChiefState state_;
};

TEST_F(PresentChiefTest, TheChiefOfThisJobAndTermThatAnswersIsThere) {
  EXPECT_TRUE(IsStillThere());
}

TEST_F(PresentChiefTest, AChiefThatHasJustClaimedTheJobIsAskedUntilItAnswers) {
  chief_.unavailable = 2;
  EXPECT_TRUE(IsStillThere());
  EXPECT_EQ(chief_.asked.load(), 3);
}

TEST_F(PresentChiefTest, AnotherJobsChiefAndThisJobsChiefOfAnotherTermAreNot) {
  chief_.status.set_term(5);
  EXPECT_FALSE(IsStillThere());
  chief_.status.set_term(4);
  chief_.status.set_curve_uri("/others/present/curve.csv");
  EXPECT_FALSE(IsStillThere()) << "its job is called so, too";
}

TEST_F(PresentChiefTest, AProcessThatKnowsNoSuchCallIsNoChief) {
  chief_.end = grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "what?");
  EXPECT_FALSE(IsStillThere());
  EXPECT_EQ(chief_.asked.load(), 1) << "it is not asked again";
}

TEST_F(PresentChiefTest, WhereNobodyListensIsNobodyWhichIsKnownAtOnce) {
  server_->Shutdown(absl::ZeroDuration());
  const absl::Time begun = absl::Now();
  EXPECT_FALSE(IsStillThere());
  EXPECT_LT(absl::Now() - begun, absl::Seconds(2)) << "the patience with a chief that is silent";
}

TEST_F(PresentChiefTest, AtTheAddressOfThisProcessIsNoOther) {
  EXPECT_FALSE(IsStillThere(state_.chief_address()));
  EXPECT_EQ(chief_.asked.load(), 0);
}

TEST_F(PresentChiefTest, AStateThatNamesNobodyIsNobodys) {
  state_.clear_chief_address();
  EXPECT_FALSE(IsStillThere());
}

}  // namespace
}  // namespace capstan::chief
