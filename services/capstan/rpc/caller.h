// Identifies the caller of a call.
#ifndef CAPSTAN_RPC_CALLER_H_
#define CAPSTAN_RPC_CALLER_H_

#include <grpcpp/server_context.h>

#include <cstdint>
#include <string>
#include <vector>

namespace capstan {

class Tls;

// Returns the DNS names in the client's certificate; none without TLS.
std::vector<std::string> CertifiedNames(const grpc::ServerContextBase& context);

// Returns a text for logs: the names in the client's certificate ("admin.ctr.capstan"), if it has
// presented one, and its address.
std::string CallerOf(const grpc::ServerContextBase& context);

// Returns the caller's address without the port: "ipv4:10.0.0.7".
std::string PeerHost(const grpc::ServerContextBase& context);

// Returns true if the caller may act for `shard`: the role in its certificate is ps, for this shard
// or for any. `own` is the identity of the called server; null: it uses plaintext, and everybody
// may.
bool MayActForShard(const grpc::ServerContextBase& context, const Tls* own, uint32_t shard);

// Returns true if the caller, according to its certificate, may pull and name a trainer in its
// pushes like a worker of the job (MayTrain in capstan/security/role.h). `own` as above.
bool MayTrain(const grpc::ServerContextBase& context, const Tls* own);

}  // namespace capstan

#endif  // CAPSTAN_RPC_CALLER_H_
