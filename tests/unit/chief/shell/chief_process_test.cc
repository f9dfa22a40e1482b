// A whole chief within the test: what it refuses, that it serves, and that it ends when it is asked
// to.
#include "chief/shell/chief_process.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/ports_file.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/health.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "tests/lib/test_folder.h"

namespace capstan::chief {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kChiefStartsWithin = absl::Minutes(1);

class ChiefProcessTest : public testing::Test {
 protected:
  ChiefProcessTest() {
    folder_.Write("a.csv", "0,0.1\n1,0.2\n0,0.3\n");
    options_.job = WriteJob("");
    options_.listen = "127.0.0.1:0";
    options_.service = {.health_port = 0,
                        .metrics_port = 0,
                        .ports_file = folder_.Path("ports"),
                        .core_dumps = true};
    // A signal that comes when no chief waits for it ends nothing.
    former_ = signal(SIGTERM, SIG_IGN);
  }
  ~ChiefProcessTest() override { signal(SIGTERM, former_); }

  std::string WriteJob(const std::string& rest) const {
    return folder_.Write(
        "job.yaml", absl::StrCat("job: ctr\ndata: {format: csv, train: [", folder_.Path("a.csv"),
                                 "], schema: {label: 0, numeric: \"1\"}}\n",
                                 "model: {towers: [{kind: linear}], loss: logistic}\n", rest));
  }

  // Runs a chief that ends by itself. What it has logged is errors_.
  int Run() {
    testing::internal::CaptureStderr();
    const int code = RunChief(options_);
    errors_ = testing::internal::GetCapturedStderr();
    return code;
  }
  // Runs a chief, calls `meet` once it listens, and then has it end by SIGTERM. A chief that leads
  // its job waits for that.
  int RunAnd(const std::function<void()>& meet) {
    std::thread other([&] {
      const absl::Time deadline = absl::Now() + kChiefStartsWithin;
      while (!ReadPortsFile(options_.service.ports_file).ok() && absl::Now() < deadline) {
        absl::SleepFor(absl::Milliseconds(5));
      }
      meet();
      kill(getpid(), SIGTERM);
    });
    const int code = RunChief(options_);
    other.join();
    return code;
  }
  v1::GetStatusReply Status() const {
    const Ports ports = ReadPortsFile(options_.service.ports_file).value();
    const auto stub = v1::Chief::NewStub(
        NewChannel(absl::StrCat("127.0.0.1:", ports.data), Role::kChief, /*tls=*/nullptr));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::GetStatusReply reply;
    const grpc::Status status = stub->GetStatus(&context, {}, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply;
  }
  // The first status of which the condition holds.
  v1::GetStatusReply StatusWhere(
      const std::function<bool(const v1::GetStatusReply&)>& holds) const {
    const absl::Time deadline = absl::Now() + kChiefStartsWithin;
    v1::GetStatusReply status = Status();
    while (!holds(status) && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(20));
      status = Status();
    }
    return status;
  }

  const TestFolder folder_;
  ProcessOptions options_;
  std::string errors_;
  sighandler_t former_ = SIG_DFL;
};

TEST_F(ChiefProcessTest, AChiefServesItsJobUntilItIsAskedToEnd) {
  v1::GetStatusReply status;
  EXPECT_EQ(RunAnd([&] { status = Status(); }), 0);
  EXPECT_EQ(status.job(), "ctr");
  EXPECT_EQ(status.state(), v1::JOB_STATE_PENDING) << "there are no shards";
}

TEST_F(ChiefProcessTest, AJobFileWithMistakesIsBadInput) {
  WriteJob("train: {batch_size: none}\n");
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(errors_, HasSubstr("job.yaml:4: "));
}

TEST_F(ChiefProcessTest, AJobFileThatIsNotThereIsBadInput) {
  options_.job = folder_.Path("absent.yaml");
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(errors_, HasSubstr("absent.yaml"));
}

TEST_F(ChiefProcessTest, OptionsThatCannotBeMeantAreBadInput) {
  options_.unnumbered_shards = UnnumberedShards::kRefuse;
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(errors_, HasSubstr("--unnumbered-shards=refuse: needs --tls"));
  options_.service.log_format = "xml";
  EXPECT_EQ(Run(), 2);
}

TEST_F(ChiefProcessTest, AProgramsJobWithoutAStoreIsBadInput) {
  folder_.Write(
      "job.yaml",
      absl::StrCat("job: ctr\ndata: {format: csv, train: [", folder_.Path("a.csv"),
                   "], schema: {label: 0, numeric: \"1\"}}\n", "model: {user: model.py}\n"));
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(errors_, HasSubstr("model.user: needs checkpoint.uri"));
}

TEST_F(ChiefProcessTest, APortThatIsTakenIsBadInput) {
  const auto other = *HealthServer::Start("127.0.0.1:0");
  options_.listen = absl::StrCat("127.0.0.1:", other->port());
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(errors_, HasSubstr(options_.listen));
}

TEST_F(ChiefProcessTest, ARefusalIsServedUntilTheFileIsMended) {
  WriteJob("train: {batch_size: none}\n");
  options_.serve_refusal = true;
  v1::GetStatusReply refused, led;
  EXPECT_EQ(RunAnd([&] {
              refused = StatusWhere(
                  [](const auto& status) { return status.state() == v1::JOB_STATE_FAILED; });
              WriteJob("");
              led = StatusWhere([](const auto& status) {
                return status.state() == v1::JOB_STATE_PENDING && status.term() > 0;
              });
            }),
            0);
  EXPECT_EQ(refused.job(), "ctr");
  EXPECT_EQ(refused.failure_kind(), v1::FAILURE_KIND_BAD_INPUT);
  EXPECT_THAT(refused.reason(), HasSubstr("job.yaml:4: "));
  EXPECT_EQ(led.reason(), "");
}

}  // namespace
}  // namespace capstan::chief
