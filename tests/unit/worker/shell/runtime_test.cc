#include "worker/shell/runtime.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "tests/unit/worker/shell/local_service.h"
#include "worker/shell/user_program.h"

namespace capstan::worker {
namespace {

// Answers registrations as it was told to, the last answer again and again, and knows no worker
// that beats.
class ForgetfulChief : public v1::Chief::Service {
 public:
  explicit ForgetfulChief(std::deque<v1::RegisterWorkerReply> answers)
      : answers_(std::move(answers)) {}

  grpc::Status RegisterWorker(grpc::ServerContext*, const v1::RegisterWorkerRequest* request,
                              v1::RegisterWorkerReply* reply) override {
    absl::MutexLock lock(&mu_);
    calls_.push_back(absl::StrCat(request->has_failed() ? "fails" : "registers",
                                  request->trainers_size() > 0 ? " again" : "",
                                  request->has_declaration() ? " with its model" : ""));
    *reply = answers_.front();
    if (answers_.size() > 1) answers_.pop_front();
    return grpc::Status::OK;
  }

  grpc::Status DeclareModel(grpc::ServerContext*, grpc::ServerReader<v1::DeclareModelRequest>* from,
                            v1::DeclareModelReply* reply) override {
    v1::DeclareModelRequest request;
    while (from->Read(&request)) continue;
    absl::MutexLock lock(&mu_);
    calls_.push_back("declares");
    reply->set_stored(true);
    return grpc::Status::OK;
  }

  grpc::Status WorkerHeartbeat(grpc::ServerContext*, const v1::WorkerHeartbeatRequest*,
                               v1::WorkerHeartbeatReply*) override {
    return grpc::Status::OK;
  }

  std::vector<std::string> calls() {
    absl::MutexLock lock(&mu_);
    return calls_;
  }

 private:
  absl::Mutex mu_;
  std::deque<v1::RegisterWorkerReply> answers_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mu_);
};

// The job, to a worker that cannot train yet.
v1::RegisterWorkerReply Wanted(uint64_t seed) {
  v1::RegisterWorkerReply reply;
  v1::JobSpec& job = *reply.mutable_job();
  job.set_job("clicks");
  job.set_seed(seed);
  job.set_partition_count(1);
  job.mutable_model()->set_user("m.py");
  job.mutable_train()->set_prefetch_batches(1);
  job.mutable_lease()->set_heartbeat_seconds(60);
  reply.set_model_wanted(true);
  return reply;
}

v1::RegisterWorkerReply Registered(uint64_t seed) {
  v1::RegisterWorkerReply reply = Wanted(seed);
  reply.set_model_wanted(false);
  reply.mutable_job()->add_tensors()->add_shape(2);
  reply.add_trainers(1);
  return reply;
}

// One test, as a process is set up once.
TEST(RuntimeTest, AProgramDeclaresItsModelAnewToAJobThatBeginsAnewAndEndsWithAnotherJob) {
  ForgetfulChief chief({
      Wanted(1), Registered(1),             // The run that its first heartbeat ends.
      Wanted(1), Wanted(1), Registered(1),  // The same job, begun anew.
      Wanted(2)                             // Another one.
  });
  const LocalService server(chief);
  Shutdown shutdown;
  UserProgram program(shutdown);
  DeclaredModel model;
  model.declaration.add_tensors()->add_shape(2);
  model.values = {1, 2};
  program.Declare(std::move(model));
  const auto runtime = Runtime::Start({.chief = server.address(),
                                       .name = "worker-0",
                                       .host = "127.0.0.1",
                                       .service = {.health_port = 0, .metrics_port = 0}},
                                      program, shutdown);
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  EXPECT_EQ((*runtime)->Wait(),
            absl::AbortedError("job clicks is another one than this program was given: seed was 1 "
                               "and is 2; it ends, to be started again"));
  EXPECT_TRUE(program.steps().closed());
  EXPECT_EQ(chief.calls(),
            std::vector<std::string>({"registers", "declares", "registers with its model",
                                      "registers again with its model", "registers", "declares",
                                      "registers with its model", "registers again with its model",
                                      "registers"}));
}

}  // namespace
}  // namespace capstan::worker
