#include "cli/status/chief_client.h"

#include <grpcpp/client_context.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/status.h"
#include "capstan/rpc/status.h"

namespace capstan::cli {
namespace {

// About the pause between two calls of a caller that asks repeatedly. An attempt to connect has a
// second, and so gets attention for half of it.
constexpr absl::Duration kConnectionPatience = absl::Milliseconds(500);

}  // namespace

ChiefClient::ChiefClient(const std::string& address, const Tls* tls)
    : address_(address),
      channel_(NewChannel(address, Role::kChief, tls)),
      stub_(v1::Chief::NewStub(channel_)) {}

absl::StatusOr<v1::GetStatusReply> ChiefClient::GetStatus(absl::Duration timeout) {
  AwaitConnection();
  v1::GetStatusReply reply;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  CAPSTAN_RETURN_IF_ERROR(Named(stub_->GetStatus(&context, v1::GetStatusRequest(), &reply)));
  return reply;
}

absl::StatusOr<std::string> ChiefClient::TakeCheckpoint(absl::Duration timeout) {
  AwaitConnection();
  v1::TakeCheckpointReply reply;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  CAPSTAN_RETURN_IF_ERROR(
      Named(stub_->TakeCheckpoint(&context, v1::TakeCheckpointRequest(), &reply)));
  return reply.uri();
}

absl::StatusOr<v1::RebalanceReply> ChiefClient::Rebalance(bool plan_only, absl::Duration timeout) {
  AwaitConnection();
  v1::RebalanceRequest request;
  request.set_plan_only(plan_only);
  v1::RebalanceReply reply;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  CAPSTAN_RETURN_IF_ERROR(Named(stub_->Rebalance(&context, request, &reply)));
  return reply;
}

absl::Status ChiefClient::StopJob(const std::string& reason, absl::Duration timeout) {
  AwaitConnection();
  v1::StopJobRequest request;
  request.set_reason(reason);
  v1::StopJobReply reply;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  return Named(stub_->StopJob(&context, request, &reply));
}

// gRPC's synchronous calls process a connection only while one of them waits, and a call that finds
// the last attempt failed does not wait. Without this the handshakes of later attempts would time
// out, one after the other.
void ChiefClient::AwaitConnection() {
  channel_->WaitForConnected(absl::ToChronoTime(absl::Now() + kConnectionPatience));
}

absl::Status ChiefClient::Named(const grpc::Status& status) const {
  if (status.ok()) return absl::OkStatus();
  const absl::Status reason = FromGrpcStatus(status);
  return absl::Status(reason.code(), absl::StrCat("chief at ", address_, ": ", reason.message()));
}

}  // namespace capstan::cli
