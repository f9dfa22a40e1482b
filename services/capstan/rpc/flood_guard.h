// Closes connections that begin calls and reset them faster than gRPC 1.51 can end them (rapid
// reset, CVE-2023-44487).
#ifndef CAPSTAN_RPC_FLOOD_GUARD_H_
#define CAPSTAN_RPC_FLOOD_GUARD_H_

#include <grpcpp/server_context.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/base/log.h"
#include "capstan/rpc/arrived_call.h"

namespace capstan {

// A stream that is reset no longer counts against the limit of streams, but its call exists until
// gRPC's threads handle it, which they do not as long as there is more to read. So a flood of
// resets uses up all memory, and no other client is answered. FloodGuard counts calls from when
// gRPC creates them, on the thread that reads. If more calls exist than all connections may have
// streams, some connection resets its calls. It is among those with much unread data, so all these
// are closed. An honest client among them reconnects and repeats its calls. The flooding client
// also reconnects at once, so no connection is accepted until the calls of the closed ones are
// gone. *Thread-safe*.
class FloodGuard final : public grpc::ContextAllocator {
 public:
  // This many calls are never considered a flood, whatever the number of connections.
  static constexpr int64_t kFreeCalls = 2048;
  // A connection is closed only if at least this much is unread; a small call is never this large.
  static constexpr size_t kUnreadBytes = 16 << 10;

  explicit FloodGuard(int max_streams_per_connection) : max_streams_(max_streams_per_connection) {}

  // Sets the port of the server. Before that no connection is closed.
  void Watch(int port) { port_.store(port, std::memory_order_release); }

  // Returns true if more calls exist than the present connections can have begun without resets:
  // then the server must not accept further connections yet.
  bool IsFlooded() const;

  // gRPC calls these when it creates a call of its callback API, and when the call has ended. All
  // contexts are created here; those of calls that are not generic are ArrivedCalls. gRPC may
  // release a generic context by either Release().
  grpc::CallbackServerContext* NewCallbackServerContext() override;
  grpc::GenericCallbackServerContext* NewGenericCallbackServerContext() override;
  void Release(grpc::CallbackServerContext* context) override;
  void Release(grpc::GenericCallbackServerContext* context) override;

 private:
  void Begin();
  void End() { calls_.fetch_sub(1, std::memory_order_relaxed); }
  // Returns true if it is time to check the connections again, to one thread only.
  bool TakeTurn();
  void EndFloods(int64_t calls);
  // REQUIRES: calls > kFreeCalls.
  bool IsFlood(int64_t calls, size_t connections) const;

  const int64_t max_streams_;
  std::atomic<int> port_{0};
  std::atomic<int64_t> calls_{0};
  Arrivals arrivals_;
  std::atomic<int64_t> next_turn_ns_{0};
  SteadyClock clock_;
  log::RateLimit log_{clock_, absl::Seconds(1)};
};

}  // namespace capstan

#endif  // CAPSTAN_RPC_FLOOD_GUARD_H_
