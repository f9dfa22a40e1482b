// The numbers that both ends of a connection must agree on.
#ifndef CAPSTAN_RPC_LIMITS_H_
#define CAPSTAN_RPC_LIMITS_H_

#include <grpc/impl/codegen/grpc_types.h>

#include <cstddef>

namespace capstan {

// Above this a message is answered RESOURCE_EXHAUSTED. Chunks are about 1 MiB; of a partition whose
// share alone is larger than this, a pull is cut, and a push comes in pieces.
inline constexpr int kMaxMessageBytes = 64 << 20;

// A push that comes in pieces is no larger. Protobuf reads less than 2 GiB.
inline constexpr int kMaxPushBytes = 1 << 30;

// How large a push may be. Where the job keeps replicas it goes on to a backup in one message, with
// what has come of it.
constexpr size_t MostPushBytes(bool replicated) {
  return replicated ? kMaxMessageBytes - (1 << 20) : kMaxPushBytes;
}

// Calls under way over one connection; more wait at the client until others have ended. So a client
// keeps fewer of them waiting for something that another call is to bring about.
inline constexpr int kMaxStreamsPerConnection = 128;

// Milliseconds.
struct Keepalive {
  int time = 10'000;    // Both ends ping a peer that has been silent for so long,
  int timeout = 5'000;  // and give it up when it does not answer within this.
  // Pings closer than this are too many for a server; well below `time`, so that no client of ours
  // is told to calm down (ENHANCE_YOUR_CALM).
  int min_ping_interval = 5'000;
};

// Bytes a peer may send ahead on one call before the receiver has read them: one chunk goes out
// without waiting for a window update.
inline constexpr int kStreamWindowBytes = 4 << 20;

// Calls `set(name, value)` for every channel argument that clients and servers share.
template <typename Set>
void SetTransport(const Set& set) {
  set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, kMaxMessageBytes);
  set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamWindowBytes);
}

// Calls `set(name, value)` for every channel argument about pings.
template <typename Set>
void SetKeepalive(const Set& set, const Keepalive& keepalive = {}) {
  set(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive.time);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive.timeout);
  set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, keepalive.min_ping_interval);
}

}  // namespace capstan

#endif  // CAPSTAN_RPC_LIMITS_H_
