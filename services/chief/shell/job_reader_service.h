// The RPC of job_reader.proto: what the job is, for programs that are no part of it.
#ifndef CAPSTAN_CHIEF_SHELL_JOB_READER_SERVICE_H_
#define CAPSTAN_CHIEF_SHELL_JOB_READER_SERVICE_H_

#include <atomic>

#include "capstan/v1/job_reader.grpc.pb.h"
#include "chief/shell/chief_service.h"

namespace capstan::chief {

// Until Open, calls are answered as those of `chief` are. Thread-safe.
class JobReaderService final : public v1::JobReader::CallbackService {
 public:
  // `chief` must outlive this object.
  explicit JobReaderService(ChiefService& chief) : chief_(chief) {}

  // Once; `job` must outlive every call, so the server is shut down before it goes.
  void Open(const v1::JobSpec& job) { job_.store(&job); }

  grpc::ServerUnaryReactor* DescribeJob(grpc::CallbackServerContext* context,
                                        const v1::DescribeJobRequest* request,
                                        v1::DescribeJobReply* reply) override;

 private:
  ChiefService& chief_;
  std::atomic<const v1::JobSpec*> job_ = nullptr;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_READER_SERVICE_H_
