#include "chief/shell/job_reader_service.h"

namespace capstan::chief {

grpc::ServerUnaryReactor* JobReaderService::DescribeJob(grpc::CallbackServerContext* context,
                                                        const v1::DescribeJobRequest*,
                                                        v1::DescribeJobReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const v1::JobSpec* const job = job_.load();
  if (job != nullptr) *reply->mutable_job() = *job;
  reactor->Finish(job == nullptr ? chief_.WhyNotOpen() : grpc::Status::OK);
  return reactor;
}

}  // namespace capstan::chief
