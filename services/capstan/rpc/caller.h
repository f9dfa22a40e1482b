// Who made a call, for a log.
#ifndef CAPSTAN_RPC_CALLER_H_
#define CAPSTAN_RPC_CALLER_H_

#include <grpcpp/server_context.h>

#include <string>

namespace capstan {

// The names in the client's certificate, "admin.ctr.capstan", if it has shown one, and its address.
std::string CallerOf(const grpc::ServerContextBase& context);

// Its address alone, without the port: "ipv4:10.0.0.7".
std::string PeerHost(const grpc::ServerContextBase& context);

}  // namespace capstan

#endif  // CAPSTAN_RPC_CALLER_H_
