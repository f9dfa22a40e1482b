#include "chief/shell/job_reader_service.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/base/clock.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/server.h"
#include "capstan/rpc/status.h"

namespace capstan::chief {
namespace {

class JobReaderServiceTest : public testing::Test {
 protected:
  absl::StatusOr<v1::DescribeJobReply> Describe() {
    grpc::ClientContext context;
    v1::DescribeJobReply reply;
    const absl::Status status = FromGrpcStatus(stub_->DescribeJob(&context, {}, &reply));
    if (!status.ok()) return status;
    return reply;
  }

  FakeClock clock_;
  ViewFeed views_{8};
  ModelIntake intake_{clock_};
  ChiefDoor door_{{.views = views_, .models = intake_, .clock = clock_}};
  JobReaderService reader_{door_};
  v1::JobSpec job_;
  const std::unique_ptr<Server> server_ = *Server::Start({.listen = "127.0.0.1:0"}, {&reader_});
  const std::unique_ptr<v1::JobReader::Stub> stub_ =
      v1::JobReader::NewStub(NewPlainChannel(absl::StrCat("127.0.0.1:", server_->port())));
};

TEST_F(JobReaderServiceTest, UntilThereIsAJobReadersAreToldWhyThereIsNone) {
  const absl::Status starting = Describe().status();
  EXPECT_TRUE(absl::IsUnavailable(starting)) << starting;
  v1::GetStatusReply refused;
  refused.set_state(v1::JOB_STATE_FAILED);
  refused.set_reason("the file has no tables");
  door_.Tell(refused);
  const absl::Status told = Describe().status();
  EXPECT_TRUE(absl::IsUnavailable(told)) << told;
  EXPECT_THAT(std::string(told.message()), testing::HasSubstr("the file has no tables"));
  job_.set_job("described");
  job_.set_partition_count(5);
  reader_.Open(job_);
  const auto described = Describe();
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_EQ(described->job().job(), "described");
  EXPECT_EQ(described->job().partition_count(), 5u);
}

}  // namespace
}  // namespace capstan::chief
