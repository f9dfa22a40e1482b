// What workers' programs declare of their model to the chief: whatever arrives, each call is
// answered, and a model that is accepted is the job's, with a checkpoint that shards can load.
//
// A list of messages of two workers. The kind of a message says whose it is and what it does: it is
// the next one of the worker's call, the last one, or a registration; or time passes.
#include <grpcpp/support/server_callback.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/base/wire_version.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/model/declaration.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/v1/chief.pb.h"
#include "chief/shell/job_store.h"
#include "chief/shell/model_intake.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/messages.h"
#include "tests/lib/test_folder.h"

namespace capstan::chief {
namespace {

using Request = v1::DeclareModelRequest;

// gRPC's part of one call. The chief ends it from this thread, or from that on which it stores.
class DeclareCall final : public grpc::ServerCallbackReader<Request> {
 public:
  explicit DeclareCall(ModelIntake& intake) : reactor_(intake.Take(&reply_)) {
    BindReactor(reactor_);
  }
  ~DeclareCall() override { reactor_->OnDone(); }  // Deletes it.

  bool over() const { return over_.HasBeenNotified(); }
  const grpc::Status& status() const { return status_; }  // REQUIRES: over.
  const v1::DeclareModelReply& reply() const { return reply_; }

  // Both REQUIRE: not over.
  void Hear(const Request& message) {
    CAPSTAN_CHECK(wanted_ != nullptr);
    *std::exchange(wanted_, nullptr) = message;
    reactor_->OnReadDone(true);
  }
  void End() {
    reactor_->OnReadDone(false);
    over_.WaitForNotification();
  }

  // What the reactor asks of gRPC.
  void Read(Request* message) override { wanted_ = message; }
  void SendInitialMetadata() override {}
  void Finish(grpc::Status status) override {
    status_ = std::move(status);
    over_.Notify();
  }

 private:
  grpc::internal::ServerReactor* reactor() override { return reactor_; }
  void CallOnDone() override {}

  v1::DeclareModelReply reply_;
  Request* wanted_ = nullptr;
  grpc::Status status_;
  absl::Notification over_;
  grpc::ServerReadReactor<Request>* const reactor_;
};

v1::JobSpec SmallJob() {
  v1::JobSpec job;
  job.set_job("small");
  job.set_partition_count(4);
  job.mutable_model()->set_user("m.py");
  job.mutable_dense_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  return job;
}

class AskingChief {
 public:
  AskingChief() { intake_.Ask(job_, *store_, JobStore::FolderUri(folder_.path(), job_.job())); }

  void Hear(uint8_t kind, std::string_view message) {
    std::unique_ptr<DeclareCall>& call = calls_[kind % 2];
    Request request;
    v1::RegisterWorkerRequest registration;
    switch (kind / 2 % 4) {
      case 0:
        if (!Parse(message, request)) return;
        if (call == nullptr) call = std::make_unique<DeclareCall>(intake_);
        call->Hear(request);
        if (call->over()) Settle(call);
        return;
      case 1:
        if (call == nullptr) call = std::make_unique<DeclareCall>(intake_);
        return End(call);
      case 2:
        if (Parse(message, registration)) Register(registration);
        return;
      default:
        clock_.Advance(ModelIntake::kStill / 2);
    }
  }

  void End() {
    for (std::unique_ptr<DeclareCall>& call : calls_) {
      if (call != nullptr) End(call);
    }
    const std::optional<v1::StoredModel> model = intake_.Await(absl::ZeroDuration());
    CAPSTAN_CHECK(model.has_value() == accepted_);
    if (model) CheckThatShardsCanLoad(*model);
  }

 private:
  void End(std::unique_ptr<DeclareCall>& call) {
    call->End();
    Settle(call);
  }

  void Settle(std::unique_ptr<DeclareCall>& call) {
    if (call->status().ok()) {
      CAPSTAN_CHECK(call->reply().stored() != accepted_);  // The first one, and no other.
      accepted_ = true;
    }
    call.reset();
  }

  void Register(v1::RegisterWorkerRequest& request) {
    request.set_wire_version(kWireVersion);
    const auto answer = intake_.Answer(request);
    CAPSTAN_CHECK(answer.has_value() || accepted_);  // Nobody registers before there is a model.
    if (answer && answer->ok()) CAPSTAN_CHECK((*answer)->model_wanted() == !accepted_);
  }

  void CheckThatShardsCanLoad(const v1::StoredModel& model) {
    CAPSTAN_CHECK(CheckDeclaration(model.declaration()).ok());
    v1::JobSpec job = job_;
    AddTensors(model.declaration(), job);
    const auto layout = DenseLayout::Create(job.tensors(), job.partition_count());
    const auto reader = CheckpointReader::Open(
        absl::StrCat(JobStore::FolderUri(folder_.path(), job_.job()), "/", model.initial()));
    CAPSTAN_CHECK(layout.ok() && reader.ok() && reader->CheckJob(job).ok());
    for (uint32_t partition = 0; partition < job.partition_count(); ++partition) {
      CAPSTAN_CHECK(reader->Read(PartitionIndex(partition), job, *layout).ok());
    }
    const auto stored = store_->ReadModel();
    CAPSTAN_CHECK(stored.ok() && stored->has_value() && (*stored)->initial() == model.initial());
  }

  const TestFolder folder_;
  const v1::JobSpec job_ = SmallJob();
  const std::unique_ptr<JobStore> store_ = *JobStore::Open(folder_.path(), job_.job());
  FakeClock clock_;
  ModelIntake intake_{clock_};
  std::array<std::unique_ptr<DeclareCall>, 2> calls_;  // One a worker; null: it makes no call.
  bool accepted_ = false;
};

}  // namespace
}  // namespace capstan::chief

void Fuzz(std::string_view input) {
  capstan::chief::AskingChief chief;
  capstan::ForEachMessage(
      input, [&chief](uint8_t kind, std::string_view message) { chief.Hear(kind, message); });
  chief.End();
}
