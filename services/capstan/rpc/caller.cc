#include "capstan/rpc/caller.h"

#include <grpcpp/security/auth_context.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "capstan/security/role.h"
#include "capstan/security/tls.h"

namespace capstan {

std::vector<std::string> CertifiedNames(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> shown = context.auth_context();
  if (shown == nullptr) return {};
  std::vector<std::string> names;
  for (const grpc::string_ref& name : shown->FindPropertyValues("peer_dns")) {
    names.emplace_back(name.data(), name.size());
  }
  return names;
}

std::string CallerOf(const grpc::ServerContextBase& context) {
  std::string caller;
  for (const std::string& name : CertifiedNames(context)) absl::StrAppend(&caller, name, " ");
  return caller + context.peer();
}

std::string PeerHost(const grpc::ServerContextBase& context) {
  const std::string peer = context.peer();
  return peer.substr(0, peer.rfind(':'));
}

bool MayActForShard(const grpc::ServerContextBase& context, const Tls* own, uint32_t shard) {
  return own == nullptr || MayActForShard(CertifiedNames(context), own->identity().job(), shard);
}

bool MayTrain(const grpc::ServerContextBase& context, const Tls* own) {
  return own == nullptr || MayTrain(CertifiedNames(context), own->identity().job());
}

}  // namespace capstan
