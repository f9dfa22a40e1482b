#include "capstan/rpc/caller.h"

#include <grpcpp/security/auth_context.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace capstan {

std::string CallerOf(const grpc::ServerContextBase& context) {
  std::string caller;
  if (const std::shared_ptr<const grpc::AuthContext> shown = context.auth_context()) {
    for (const grpc::string_ref& name : shown->FindPropertyValues("peer_dns")) {
      absl::StrAppend(&caller, absl::string_view(name.data(), name.size()), " ");
    }
  }
  return caller + context.peer();
}

std::string PeerHost(const grpc::ServerContextBase& context) {
  const std::string peer = context.peer();
  return peer.substr(0, peer.rfind(':'));
}

}  // namespace capstan
