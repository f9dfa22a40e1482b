// Who made a call.
#ifndef CAPSTAN_RPC_CALLER_H_
#define CAPSTAN_RPC_CALLER_H_

#include <grpcpp/server_context.h>

#include <cstdint>
#include <string>

namespace capstan {

// For a log: the names in the client's certificate, "admin.ctr.capstan", if it has shown one, and
// its address.
std::string CallerOf(const grpc::ServerContextBase& context);

// Its address alone, without the port: "ipv4:10.0.0.7".
std::string PeerHost(const grpc::ServerContextBase& context);

// Whether the caller may act for that shard: its certificate is of the role ps, and of no shard in
// particular or of that one. Without TLS everybody may.
bool MayActForShard(const grpc::ServerContextBase& context, uint32_t shard);

// Whether the caller may pull, and name a trainer in its pushes, as a worker of the job does
// (MayTrain in capstan/security/role.h), by its certificate. Without TLS everybody may.
bool MayTrain(const grpc::ServerContextBase& context);

}  // namespace capstan

#endif  // CAPSTAN_RPC_CALLER_H_
