#include "worker/shell/registration.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "capstan/base/clock.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "capstan/base/worth_repeating.h"
#include "capstan/process/await_chief.h"
#include "capstan/rpc/status.h"
#include "capstan/v1/chief.grpc.pb.h"

namespace capstan::worker {
namespace {

constexpr absl::Duration kAttempt = absl::Seconds(3);
constexpr absl::Duration kDeclaration = absl::Minutes(10);  // Gibibytes, to a store far away.
constexpr absl::Duration kWatchTurn = absl::Milliseconds(50);
constexpr size_t kPieceFloats = size_t{1} << 18;

absl::StatusOr<v1::RegisterWorkerReply> TryOnce(EventLoop& loop, const Channel& channel,
                                                const v1::RegisterWorkerRequest& request) {
  std::optional<absl::StatusOr<v1::RegisterWorkerReply>> result;
  loop.Call<v1::RegisterWorkerReply>(
      channel, "/capstan.v1.Chief/RegisterWorker", request, kAttempt,
      [&](absl::StatusOr<v1::RegisterWorkerReply> reply) { result = std::move(reply); });
  while (!result) loop.Poll(kAttempt);
  return *std::move(result);
}

// Cancels a call as soon as the process is asked to end.
class CancelOnShutdown {
 public:
  // Both must outlive this object.
  CancelOnShutdown(grpc::ClientContext& context, const Shutdown& shutdown)
      : watcher_([this, &context, &shutdown] {
          while (!over_.HasBeenNotified()) {
            if (shutdown.WaitFor(kWatchTurn)) return context.TryCancel();
          }
        }) {}
  ~CancelOnShutdown() {
    over_.Notify();
    watcher_.join();
  }

 private:
  absl::Notification over_;
  std::thread watcher_;  // Last: it uses the other.
};

}  // namespace

absl::StatusOr<v1::RegisterWorkerReply> Register(EventLoop& loop, const Channel& channel,
                                                 const RegistrationOptions& options,
                                                 const Shutdown& shutdown) {
  v1::RegisterWorkerRequest request;
  request.set_wire_version(kWireVersion);
  request.set_name(options.name);
  request.set_incarnation(Raw(options.incarnation));
  request.set_former(Raw(options.former));
  if (options.declaration != nullptr) *request.mutable_declaration() = *options.declaration;
  absl::StatusOr<v1::RegisterWorkerReply> answer;
  const auto try_once = [&] {
    answer = TryOnce(loop, channel, request);
    return answer.status();
  };
  CAPSTAN_RETURN_IF_ERROR(
      AwaitChief({.address = options.chief, .give_up_after = options.give_up_after}, SteadyClock(),
                 shutdown, try_once));
  return answer;
}

void TellFailure(EventLoop& loop, const Channel& channel, const std::string& name,
                 const v1::UserCodeError& error) {
  v1::RegisterWorkerRequest request;
  request.set_wire_version(kWireVersion);
  request.set_name(name);
  *request.mutable_failed() = error;
  const absl::Status told = TryOnce(loop, channel, request).status();
  if (!told.ok()) log::Warn("the chief does not know that the program fails", {{"error", told}});
}

absl::Status DeclareModel(const Channel& channel, const DeclaredModel& model,
                          const Shutdown& shutdown) {
  const std::unique_ptr<v1::Chief::Stub> stub = v1::Chief::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kDeclaration));
  const CancelOnShutdown cancel(context, shutdown);
  v1::DeclareModelReply reply;
  const auto writer = stub->DeclareModel(&context, &reply);
  v1::DeclareModelRequest request;
  *request.mutable_declaration() = model.declaration;
  bool open = writer->Write(request);
  request.Clear();
  for (size_t i = 0; open && i < model.values.size(); i += kPieceFloats) {
    const size_t count = std::min(kPieceFloats, model.values.size() - i);
    request.set_values(&model.values[i], count * sizeof(float));
    open = writer->Write(request);
  }
  writer->WritesDone();
  const absl::Status status = FromGrpcStatus(writer->Finish());
  if (!status.ok() && shutdown.requested()) return absl::CancelledError("asked to stop");
  if (IsWorthRepeating(status)) {
    return absl::UnavailableError(absl::StrCat("the chief has not answered: ", status.ToString()));
  }
  if (status.ok() && reply.stored()) {
    log::Info("the job's model is declared",
              {{"tensors", model.declaration.tensors_size()}, {"parameters", model.values.size()}});
  }
  return status;
}

}  // namespace capstan::worker
