// The numbers that both ends of a connection must agree on.
#ifndef CAPSTAN_RPC_LIMITS_H_
#define CAPSTAN_RPC_LIMITS_H_

#include <grpc/impl/codegen/grpc_types.h>

namespace capstan {

// A larger message is answered RESOURCE_EXHAUSTED. Chunks are about 1 MiB. If the share of a single
// partition is larger than a message, a pull of it is cut, and a push of it is sent in pieces.
inline constexpr int kMaxMessageBytes = 64 << 20;

// The most bytes of a push that is sent in pieces: protobuf cannot read 2 GiB or more.
inline constexpr int kMaxPushBytes = 1 << 30;

// The most bytes that an owner tells a backup in pieces: such a push, together with its outcome.
inline constexpr int kMaxReplicateBytes = kMaxPushBytes + (1 << 20);

// The most calls under way over one connection; further ones wait at the client until others have
// ended. So a client must have fewer calls than this wait at the server for something that another
// of its calls brings about.
inline constexpr int kMaxStreamsPerConnection = 128;

// Milliseconds.
struct Keepalive {
  int time = 10'000;    // Both ends ping a peer that has been silent for so long.
  int timeout = 5'000;  // They give the peer up when it does not answer within this time.
  // A server takes pings at shorter intervals for too many. Well below `time`, so that no client of
  // ours is told to calm down (ENHANCE_YOUR_CALM).
  int min_ping_interval = 5'000;
};

// How many bytes a peer may send on one call before the receiver has read them: so much that a
// chunk is sent without waiting for a window update.
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
