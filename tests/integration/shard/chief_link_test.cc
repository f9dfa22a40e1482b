// A shard's talk with a chief whose calls are reset on their way.
#include "ps/process/chief_link.h"

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "capstan/base/clock.h"
#include "capstan/base/shutdown.h"
#include "capstan/metrics/registry.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "ps/partition/shard_metrics.h"
#include "tests/integration/shard/local_shard.h"

namespace capstan {
namespace {

grpc::ServerUnaryReactor* Say(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

// Answers registrations as a test says, and does not know a shard until one of them was OK.
class ResettingChief final : public v1::Chief::CallbackService {
 public:
  explicit ResettingChief(const v1::JobSpec& job) : job_(job) {}

  // The next registrations are answered so; those after them are OK. The shard is not known.
  void Forget(const std::deque<grpc::Status>& answers) {
    absl::MutexLock lock(&mu_);
    answers_ = answers;
    known_ = false;
  }
  // What later registrations are told of the job.
  void SetHeartbeatSeconds(double seconds) {
    absl::MutexLock lock(&mu_);
    job_.mutable_lease()->set_heartbeat_seconds(seconds);
  }
  int registrations() {
    absl::MutexLock lock(&mu_);
    return registrations_;
  }

  grpc::ServerUnaryReactor* RegisterShard(grpc::CallbackServerContext* context,
                                          const v1::RegisterShardRequest* request,
                                          v1::RegisterShardReply* reply) override {
    absl::MutexLock lock(&mu_);
    ++registrations_;
    secrets_.insert(request->secret());
    *reply->mutable_job() = job_;
    if (answers_.empty()) {
      known_ = true;
      return Say(context, grpc::Status::OK);
    }
    const grpc::Status answer = answers_.front();
    answers_.pop_front();
    return Say(context, answer);
  }
  grpc::ServerUnaryReactor* ShardHeartbeat(grpc::CallbackServerContext* context,
                                           const v1::ShardHeartbeatRequest* request,
                                           v1::ShardHeartbeatReply* reply) override {
    absl::MutexLock lock(&mu_);
    secrets_.insert(request->secret());
    reply->set_known(known_);
    return Say(context, grpc::Status::OK);
  }

  // There is no view. A stream that ends is begun again half a second later.
  grpc::ServerWriteReactor<v1::View>* WatchView(grpc::CallbackServerContext*,
                                                const v1::WatchViewRequest* request) override {
    class Ended final : public grpc::ServerWriteReactor<v1::View> {
     public:
      Ended() { Finish(grpc::Status::OK); }
      void OnDone() override { delete this; }
    };
    absl::MutexLock lock(&mu_);
    ++watches_;
    secrets_.insert(request->secret());
    return new Ended;
  }

  // All that were shown.
  std::set<std::string> secrets() {
    absl::MutexLock lock(&mu_);
    return secrets_;
  }
  int watches() {
    absl::MutexLock lock(&mu_);
    return watches_;
  }

 private:
  absl::Mutex mu_;
  std::set<std::string> secrets_ ABSL_GUARDED_BY(mu_);
  int watches_ ABSL_GUARDED_BY(mu_) = 0;
  v1::JobSpec job_ ABSL_GUARDED_BY(mu_);
  std::deque<grpc::Status> answers_ ABSL_GUARDED_BY(mu_);
  bool known_ ABSL_GUARDED_BY(mu_) = false;
  int registrations_ ABSL_GUARDED_BY(mu_) = 0;
};

class ChiefLinkTest : public testing::Test {
 protected:
  static v1::JobSpec QuickJob() {
    v1::JobSpec job = SmallJob(/*dim=*/2, /*dense_width=*/0);
    job.mutable_lease()->set_heartbeat_seconds(0.05);
    return job;
  }

  // Polls until the shard has learned of so many registrations, or cannot go on.
  absl::Status PollUntilLearned(int times) {
    const absl::Time until = absl::Now() + absl::Seconds(30);
    while (learned_ < times && absl::Now() < until) {
      const absl::Status status = link_.Poll(absl::Milliseconds(10));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  void Follow() {
    link_.Follow(
        *shard_,
        [this](const v1::RegisterShardReply&) {
          ++learned_;
          return absl::OkStatus();
        },
        [](const v1::View&) { return absl::OkStatus(); });
  }

  const v1::JobSpec job_ = QuickJob();
  const ps::ShardIdentity identity_{ShardIndex{0}, Incarnation{7}};
  SteadyClock clock_;
  metrics::Registry registry_;
  ps::ShardMetrics metrics_{registry_};
  const std::unique_ptr<ps::Shard> shard_ = *ps::Shard::Create(job_, identity_, metrics_, clock_);
  ResettingChief chief_{job_};
  const std::unique_ptr<Server> server_ = *Server::Start({.listen = "127.0.0.1:0"}, {&chief_});
  int learned_ = 0;
  EventLoop loop_;
  ps::ChiefLink link_{loop_,
                      {.chief = absl::StrCat("127.0.0.1:", server_->port()),
                       .address = "127.0.0.1:1",
                       .identity = identity_,
                       .secret = "of this process"}};
};

const std::deque<grpc::Status>& Resets() {
  static const auto& resets =
      *new std::deque<grpc::Status>{{grpc::StatusCode::INTERNAL, "RST_STREAM with error code 2"},
                                    {grpc::StatusCode::CANCELLED, "RST_STREAM with error code 8"},
                                    {grpc::StatusCode::UNKNOWN, "Stream removed"}};
  return resets;
}

TEST_F(ChiefLinkTest, ARegistrationThatIsResetIsMadeAgain) {
  const Shutdown shutdown;
  chief_.Forget(Resets());
  const absl::StatusOr<v1::RegisterShardReply> registered = link_.Register(shutdown);
  ASSERT_TRUE(registered.ok()) << registered.status();
  EXPECT_EQ(chief_.registrations(), 4);
}

TEST_F(ChiefLinkTest, AShardWhoseRegistrationIsResetGoesOnAndRegistersAgain) {
  const Shutdown shutdown;
  ASSERT_TRUE(link_.Register(shutdown).ok());
  Follow();
  chief_.Forget(Resets());
  const absl::Status status = PollUntilLearned(1);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(learned_, 1);
  EXPECT_GE(chief_.registrations(), 5);
}

TEST_F(ChiefLinkTest, AShardShowsItsSecretInAllThatItTellsTheChief) {
  const Shutdown shutdown;
  ASSERT_TRUE(link_.Register(shutdown).ok());
  Follow();
  chief_.Forget({});  // So that it registers again.
  EXPECT_TRUE(PollUntilLearned(1).ok());
  const absl::Time until = absl::Now() + absl::Seconds(30);
  while (chief_.watches() == 0 && absl::Now() < until) {
    ASSERT_TRUE(link_.Poll(absl::Milliseconds(10)).ok());
  }
  EXPECT_GT(chief_.watches(), 0);
  EXPECT_EQ(chief_.secrets(), std::set<std::string>{"of this process"});
}

TEST_F(ChiefLinkTest, AHeartbeatThatIsNoNumberDoesNotSilenceTheShard) {
  const Shutdown shutdown;
  chief_.SetHeartbeatSeconds(std::numeric_limits<double>::quiet_NaN());
  ASSERT_TRUE(link_.Register(shutdown).ok());
  Follow();
  for (int heartbeats = 1; heartbeats <= 2; ++heartbeats) {
    chief_.Forget({});  // The shard hears of it by its next heartbeat.
    const absl::Status status = PollUntilLearned(heartbeats);
    EXPECT_TRUE(status.ok()) << status;
    ASSERT_GE(learned_, heartbeats);
  }
}

TEST_F(ChiefLinkTest, AShardThatTheChiefRefusesEnds) {
  const Shutdown shutdown;
  ASSERT_TRUE(link_.Register(shutdown).ok());
  Follow();
  chief_.Forget({{grpc::StatusCode::FAILED_PRECONDITION, "another process has come in its place"}});
  EXPECT_EQ(PollUntilLearned(1).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace capstan
