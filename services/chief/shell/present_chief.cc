#include "chief/shell/present_chief.h"

#include <grpcpp/client_context.h>

#include <memory>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/process/identity.h"
#include "capstan/rpc/channel.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "chief/machines/curve_uri.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(2);
constexpr absl::Duration kAskAgain = absl::Milliseconds(100);
// A chief that trains writes about once a second.
constexpr absl::Duration kSomeWrites = absl::Seconds(3);

bool IsLoopback(absl::string_view address) {
  return absl::StartsWith(address, "127.") || absl::StartsWith(address, "[::1]") ||
         absl::StartsWith(address, "localhost:");
}

bool WritesItsState(JobStore& store, const v1::ChiefState& state) {
  absl::SleepFor(kSomeWrites);
  const absl::StatusOr<std::optional<v1::ChiefState>> later = store.ReadState();
  return later.ok() && *later && (*later)->SerializeAsString() != state.SerializeAsString();
}

// Returns true if the channel connects before `deadline`; false as soon as the connection is
// refused.
bool Connect(grpc::Channel& channel, absl::Time deadline) {
  grpc_connectivity_state now = channel.GetState(/*try_to_connect=*/true);
  while (now != GRPC_CHANNEL_READY && now != GRPC_CHANNEL_TRANSIENT_FAILURE) {
    if (!channel.WaitForStateChange(now, absl::ToChronoTime(deadline))) return false;
    now = channel.GetState(/*try_to_connect=*/true);
  }
  return now == GRPC_CHANNEL_READY;
}

}  // namespace

bool ChiefIsStillThere(JobStore& store, const v1::ChiefState& state, const std::string& own_address,
                       const Tls* tls) {
  if (state.chief_address().empty()) return false;
  if (IsLoopback(state.chief_address()) && state.chief_host() != HostName()) {
    return WritesItsState(store, state);
  }
  if (state.chief_address() == own_address) return false;
  const absl::Time deadline = absl::Now() + kPatience;
  const Channel channel = NewChannel(state.chief_address(), Role::kChief, tls);
  const std::unique_ptr<v1::Chief::Stub> stub = v1::Chief::NewStub(channel);
  while (Connect(*channel, deadline)) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(deadline));
    v1::GetStatusReply reply;
    const grpc::Status asked = stub->GetStatus(&context, {}, &reply);
    // The uri of the curve distinguishes jobs of the same name that are stored in different places.
    if (asked.ok()) {
      return reply.curve_uri() == CurveUri(state.job()) && reply.term() == state.term();
    }
    // A chief that has just claimed the job answers UNAVAILABLE at first, and serves soon.
    if (asked.error_code() != grpc::StatusCode::UNAVAILABLE) return false;
    absl::SleepFor(kAskAgain);
  }
  return false;
}

}  // namespace capstan::chief
