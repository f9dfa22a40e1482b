// Silences gRPC's own log.
#ifndef CAPSTAN_RPC_GRPC_LOG_H_
#define CAPSTAN_RPC_GRPC_LOG_H_

namespace capstan {

// From now on gRPC writes nothing to stderr unless GRPC_VERBOSITY asks for it. Relevant errors are
// returned as a status, which Capstan logs once; a line in another format would break a JSON log.
// Thread-safe.
void SilenceGrpc();

}  // namespace capstan

#endif  // CAPSTAN_RPC_GRPC_LOG_H_
