// Another shard of the job, on loopback, whose answers a test says.
#ifndef CAPSTAN_TESTS_UNIT_PS_PROCESS_FAKE_SHARD_H_
#define CAPSTAN_TESTS_UNIT_PS_PROCESS_FAKE_SHARD_H_

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/ps.grpc.pb.h"

namespace capstan::ps {

// Thread-safe.
template <typename Request, typename Reply>
class Answers {
 public:
  // What a call comes to; nothing: it is left waiting until its caller gives up.
  using Answer = std::function<std::optional<grpc::Status>(const Request&, Reply&)>;

  void Set(Answer answer) {
    absl::MutexLock lock(&mu_);
    answer_ = std::move(answer);
  }
  std::vector<Request> requests() const {
    absl::MutexLock lock(&mu_);
    return requests_;
  }
  size_t given_up() const {
    absl::MutexLock lock(&mu_);
    return given_up_;
  }

  grpc::ServerUnaryReactor* Take(grpc::CallbackServerContext& context, const Request& request,
                                 Reply& reply) {
    absl::MutexLock lock(&mu_);
    requests_.push_back(request);
    const std::optional<grpc::Status> end = answer_ ? answer_(request, reply) : std::nullopt;
    if (!end) return new Waiting(*this);
    grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
    reactor->Finish(*end);
    return reactor;
  }

 private:
  // Deletes itself when the call has ended.
  class Waiting final : public grpc::ServerUnaryReactor {
   public:
    explicit Waiting(Answers& answers) : answers_(answers) {}
    void OnCancel() override {
      {
        absl::MutexLock lock(&answers_.mu_);
        ++answers_.given_up_;
      }
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    Answers& answers_;
  };

  mutable absl::Mutex mu_;
  Answer answer_ ABSL_GUARDED_BY(mu_);
  std::vector<Request> requests_ ABSL_GUARDED_BY(mu_);
  size_t given_up_ ABSL_GUARDED_BY(mu_) = 0;
};

class FakeShard final : public v1::Ps::CallbackService {
 public:
  ~FakeShard() override { server_->Shutdown(absl::ZeroDuration()); }

  std::string address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

  grpc::ServerUnaryReactor* WatchCounts(grpc::CallbackServerContext* context,
                                        const v1::WatchCountsRequest* request,
                                        v1::WatchCountsReply* reply) override {
    return watches.Take(*context, *request, *reply);
  }
  grpc::ServerUnaryReactor* TakePartition(grpc::CallbackServerContext* context,
                                          const v1::TakePartitionRequest* request,
                                          v1::TakePartitionReply* reply) override {
    return pieces.Take(*context, *request, *reply);
  }

  grpc::ServerUnaryReactor* Replicate(grpc::CallbackServerContext* context,
                                      const v1::ReplicateRequest* request,
                                      v1::ReplicateReply* reply) override {
    return operations.Take(*context, *request, *reply);
  }
  grpc::ServerUnaryReactor* ReplicatePiece(grpc::CallbackServerContext* context,
                                           const v1::PushPieceRequest* request,
                                           v1::ReplicateReply* reply) override {
    return operation_pieces.Take(*context, *request, *reply);
  }

  Answers<v1::WatchCountsRequest, v1::WatchCountsReply> watches;
  Answers<v1::TakePartitionRequest, v1::TakePartitionReply> pieces;
  Answers<v1::ReplicateRequest, v1::ReplicateReply> operations;
  Answers<v1::PushPieceRequest, v1::ReplicateReply> operation_pieces;

 private:
  const std::unique_ptr<Server> server_ = *Server::Start({.listen = "127.0.0.1:0"}, {this});
};

}  // namespace capstan::ps

#endif  // CAPSTAN_TESTS_UNIT_PS_PROCESS_FAKE_SHARD_H_
