#include "cli/chief_client.h"

#include <grpcpp/client_context.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/status.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/status.h"

namespace capstan::cli {

ChiefClient::ChiefClient(const std::string& address)
    : address_(address), stub_(v1::Chief::NewStub(NewChannel(address))) {}

absl::StatusOr<v1::GetStatusReply> ChiefClient::GetStatus(absl::Duration timeout) {
  v1::GetStatusReply reply;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  CAPSTAN_RETURN_IF_ERROR(Named(stub_->GetStatus(&context, v1::GetStatusRequest(), &reply)));
  return reply;
}

absl::StatusOr<std::string> ChiefClient::TakeCheckpoint(absl::Duration timeout) {
  v1::TakeCheckpointReply reply;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  CAPSTAN_RETURN_IF_ERROR(
      Named(stub_->TakeCheckpoint(&context, v1::TakeCheckpointRequest(), &reply)));
  return reply.uri();
}

absl::Status ChiefClient::Named(const grpc::Status& status) const {
  if (status.ok()) return absl::OkStatus();
  const absl::Status reason = FromGrpcStatus(status);
  return absl::Status(reason.code(), absl::StrCat("chief at ", address_, ": ", reason.message()));
}

}  // namespace capstan::cli
