// Follows a crew whose programs are scripts, and whose chief answers as a test says.
#include "cli/status/follower.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/server_context.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/worker/shell/local_service.h"

namespace capstan::cli {
namespace {

using testing::HasSubstr;

// Thread-safe.
class ChiefOfCrew final : public v1::Chief::Service {
 public:
  void Set(v1::JobState state) {
    absl::MutexLock lock(&mu_);
    state_ = state;
  }
  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusReply* reply) override {
    absl::MutexLock lock(&mu_);
    ++asked_;
    reply->set_job("demo");
    reply->set_state(state_);
    return grpc::Status::OK;
  }
  // The job is over once it is saved.
  grpc::Status TakeCheckpoint(grpc::ServerContext*, const v1::TakeCheckpointRequest*,
                              v1::TakeCheckpointReply* reply) override {
    Set(v1::JOB_STATE_COMPLETED);
    reply->set_uri("/models/demo/checkpoints/7-a");
    return grpc::Status::OK;
  }

  bool asked() {
    absl::MutexLock lock(&mu_);
    return asked_ > 0;
  }

 private:
  absl::Mutex mu_;
  int asked_ ABSL_GUARDED_BY(mu_) = 0;
  v1::JobState state_ ABSL_GUARDED_BY(mu_) = v1::JOB_STATE_RUNNING;
};

class FollowerTest : public testing::Test {
 protected:
  FollowerTest() {
    for (const char* program : {"ps", "worker"}) Write(program, "exec sleep 600");
    WriteChief("exec sleep 600");
    output_ = open(folder_.Write("output", "").c_str(), O_WRONLY | O_CLOEXEC);
  }
  ~FollowerTest() override {
    crew_.reset();
    close(output_);
  }

  void Write(const std::string& program, const std::string& script) {
    const std::string path = folder_.Write(program, absl::StrCat("#!/bin/sh\n", script, "\n"));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  // A chief that listens where chief_ does, and then does this.
  void WriteChief(const std::string& script) {
    const std::string address = service_.address();
    Write("chief", absl::StrCat("while [ \"$1\" != --ports-file ]; do shift; done\n",
                                "echo '{\"data\": ", address.substr(address.find(':') + 1),
                                "}' > \"$2\"\n", script));
  }
  // `worker`: the user's own program; empty: the script.
  Follower& Begin(const std::string& worker = "") {
    crew_.emplace(CrewOptions{.programs = folder_.path(), .job = "job.yaml", .worker = worker},
                  run_, shutdown_);
    EXPECT_EQ(crew_->Start(), absl::OkStatus());
    terminal_.emplace(output_, /*plain=*/true);
    return follower_.emplace(*crew_, shutdown_, *terminal_, /*tls=*/nullptr);
  }
  std::string Output() const {
    std::ifstream file(folder_.Path("output"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  // A first look, as Ctrl-C is pressed already when Follow() begins.
  absl::Status LookOnce(Follower& follower) {
    shutdown_.Request();
    return follower.Follow();
  }

  // Follows a job that is completed as soon as the condition holds.
  template <typename Condition>
  absl::Status FollowUntil(Follower& follower, const Condition& condition) {
    std::thread end([&] {
      const absl::Time deadline = absl::Now() + absl::Minutes(1);
      while (!condition() && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
      chief_.Set(v1::JOB_STATE_COMPLETED);
    });
    const absl::Status status = follower.Follow();
    end.join();
    return status;
  }

  ChiefOfCrew chief_;
  const worker::LocalService service_{chief_};
  const TestFolder folder_;
  const RunFolder run_ = *RunFolder::Make(folder_.Path("run"), "demo");
  Shutdown shutdown_;
  int output_ = -1;
  std::optional<Terminal> terminal_;
  std::optional<Crew> crew_;
  std::optional<Follower> follower_;
};

TEST_F(FollowerTest, AJobIsFollowedUntilItsChiefSaysThatItIsOver) {
  Follower& follower = Begin();
  EXPECT_EQ(FollowUntil(follower, [this] { return chief_.asked(); }), absl::OkStatus());
  EXPECT_EQ(follower.status().state(), v1::JOB_STATE_COMPLETED);
  EXPECT_TRUE(follower.worked());
}

TEST_F(FollowerTest, AJobThatHadEndedBeforeWasNotWorkedOn) {
  chief_.Set(v1::JOB_STATE_FAILED);
  Follower& follower = Begin();
  EXPECT_EQ(follower.Follow(), absl::OkStatus());
  EXPECT_EQ(follower.status().state(), v1::JOB_STATE_FAILED);
  EXPECT_FALSE(follower.worked());
}

TEST_F(FollowerTest, AChiefThatEndsByItselfEndsTheJobWhateverItSaid) {
  WriteChief("sleep 0.3\nexit 0");
  Follower& follower = Begin();
  EXPECT_EQ(follower.Follow(), absl::OkStatus());
  const std::optional<Ending> ending = follower.AwaitChief();
  ASSERT_TRUE(ending.has_value());
  EXPECT_EQ(ending->exit_code, 0);
}

TEST_F(FollowerTest, AShutdownIsNoticedAndAChiefThatRunsOnIsNotWaitedForThen) {
  Follower& follower = Begin();
  EXPECT_TRUE(absl::IsCancelled(LookOnce(follower)));
  EXPECT_EQ(follower.status().state(), v1::JOB_STATE_RUNNING) << "the chief was asked before";
  EXPECT_FALSE(follower.AwaitChief().has_value());
}

TEST_F(FollowerTest, ADeathIsToldAndTheCrewGoesOn) {
  Write("ps", "exit 5");
  Follower& follower = Begin();
  const std::string died = "ps-0 died: exit code 5; it is started again (";
  const auto told = [&] { return Output().find(died) != std::string::npos; };
  EXPECT_EQ(FollowUntil(follower, told), absl::OkStatus());
  EXPECT_THAT(Output(), HasSubstr(died));
}

TEST_F(FollowerTest, ACrewThatCannotGoOnIsAnErrorThatSaysWhy) {
  Follower& follower = Begin(/*worker=*/"sh -c 'exit 2'");
  EXPECT_EQ(follower.Follow(), absl::AbortedError("worker-0 died: exit code 2"));
}

TEST_F(FollowerTest, AJobThatTrainsIsSavedAndItsEndIsSeen) {
  Follower& follower = Begin();
  ASSERT_TRUE(absl::IsCancelled(LookOnce(follower)));
  const absl::StatusOr<std::string> saved = follower.Save();
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(*saved, "/models/demo/checkpoints/7-a");
  EXPECT_EQ(follower.status().state(), v1::JOB_STATE_COMPLETED) << "it is looked at afterwards";
}

TEST_F(FollowerTest, AJobThatDoesNotTrainIsNotSaved) {
  chief_.Set(v1::JOB_STATE_PENDING);
  Follower& follower = Begin();
  EXPECT_TRUE(absl::IsFailedPrecondition(follower.Save().status())) << "nothing is known of it";
  ASSERT_TRUE(absl::IsCancelled(LookOnce(follower)));
  EXPECT_EQ(follower.Save().status(), absl::FailedPreconditionError("it was not training"));
}

}  // namespace
}  // namespace capstan::cli
