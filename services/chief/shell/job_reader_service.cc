#include "chief/shell/job_reader_service.h"

#include "absl/status/status.h"
#include "capstan/rpc/status.h"

namespace capstan::chief {

grpc::ServerUnaryReactor* JobReaderService::DescribeJob(grpc::CallbackServerContext* context,
                                                        const v1::DescribeJobRequest*,
                                                        v1::DescribeJobReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const v1::JobSpec* const job = job_.load();
  if (job != nullptr) *reply->mutable_job() = *job;
  reactor->Finish(ToGrpcStatus(job == nullptr ? chief_.WhyNotOpen() : absl::OkStatus()));
  return reactor;
}

}  // namespace capstan::chief
