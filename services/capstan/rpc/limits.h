// The constants on which both ends of a connection must agree.
#ifndef CAPSTAN_RPC_LIMITS_H_
#define CAPSTAN_RPC_LIMITS_H_

#include <grpc/impl/codegen/grpc_types.h>

namespace capstan {

// A larger message is answered RESOURCE_EXHAUSTED. Chunks have about 1 MiB. If the share of a
// single partition is larger than a message, a pull of it is split, and a push of it is sent in
// pieces.
inline constexpr int kMaxMessageBytes = 64 << 20;

// The largest size of a push that is sent in pieces: protobuf cannot parse 2 GiB or more.
inline constexpr int kMaxPushBytes = 1 << 30;

// The largest size of what an owner sends a backup in pieces: such a push, together with its
// outcome.
inline constexpr int kMaxReplicateBytes = kMaxPushBytes + (1 << 20);

// The most calls under way on one connection; further ones wait at the client until others have
// ended. So a client must have fewer calls than this that wait at the server for an effect of
// another of its calls.
inline constexpr int kMaxStreamsPerConnection = 128;

// Milliseconds.
struct Keepalive {
  int time = 10'000;    // Both ends ping a peer that has been silent for this long.
  int timeout = 5'000;  // They close the connection if the peer does not answer within this time.
  // A server regards more frequent pings as too many. It is well below `time`, so that no client of
  // ours is rejected with ENHANCE_YOUR_CALM.
  int min_ping_interval = 5'000;
};

// How many bytes a peer may send on one call before the receiver has read them: enough to send a
// chunk without waiting for a window update.
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
