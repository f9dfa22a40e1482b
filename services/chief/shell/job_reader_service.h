// The RPC of job_reader.proto: describes the job to programs that are not part of it.
#ifndef CAPSTAN_CHIEF_SHELL_JOB_READER_SERVICE_H_
#define CAPSTAN_CHIEF_SHELL_JOB_READER_SERVICE_H_

#include <atomic>

#include "capstan/v1/job_reader.grpc.pb.h"
#include "chief/shell/chief_door.h"

namespace capstan::chief {

// Until Open is called, calls return the error of ChiefDoor::WhyNotOpen. Thread-safe.
class JobReaderService final : public v1::JobReader::CallbackService {
 public:
  // `chief` must outlive this object.
  explicit JobReaderService(ChiefDoor& chief) : chief_(chief) {}

  // Answers calls with `job` from now on. Must be called once. `job` must outlive every call, so
  // the server must be shut down first.
  void Open(const v1::JobSpec& job) { job_.store(&job); }

  grpc::ServerUnaryReactor* DescribeJob(grpc::CallbackServerContext* context,
                                        const v1::DescribeJobRequest* request,
                                        v1::DescribeJobReply* reply) override;

 private:
  ChiefDoor& chief_;
  std::atomic<const v1::JobSpec*> job_ = nullptr;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_READER_SERVICE_H_
