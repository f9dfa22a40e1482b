// The numbers that both ends of a connection must agree on.
#ifndef CAPSTAN_RPC_LIMITS_H_
#define CAPSTAN_RPC_LIMITS_H_

#include <grpc/impl/codegen/grpc_types.h>

namespace capstan {

// Chunks are about 1 MiB; a partition that alone is larger is one chunk. Above this a message is
// answered RESOURCE_EXHAUSTED.
inline constexpr int kMaxMessageBytes = 64 << 20;

inline constexpr int kKeepaliveTimeMs = 10'000;
inline constexpr int kKeepaliveTimeoutMs = 5'000;
// What a server tolerates; below kKeepaliveTimeMs, so that no client of ours is told to calm down.
inline constexpr int kMinPingIntervalMs = 5'000;

// Bytes a peer may send ahead on one call before the receiver has read them: one chunk goes out
// without waiting for a window update.
inline constexpr int kStreamWindowBytes = 4 << 20;

// Calls `set(name, value)` for every channel argument that clients and servers share.
template <typename Set>
void SetTransport(const Set& set) {
  set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, kMaxMessageBytes);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamWindowBytes);
}

}  // namespace capstan

#endif  // CAPSTAN_RPC_LIMITS_H_
