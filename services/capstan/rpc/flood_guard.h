// Ends connections that begin calls and reset them faster than gRPC 1.51 can end them (rapid reset,
// CVE-2023-44487).
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

// A stream that is reset counts no longer against the limit of streams, but its call lives on until
// gRPC's threads have come round to it; and they do not as long as there is more to read. So a
// flood of resets takes all memory, and no other client is answered. But calls are counted here
// from when gRPC makes them, on the thread that reads: more of them than all connections may have
// streams means that some connection resets. It is one of those with much that is not read yet;
// they are ended. A client of ours may be among them: it connects again and repeats its calls. Who
// floods connects again, too, and at once; so nobody is let in until the calls of those who were
// sent away have gone.
// *Thread-safe*.
class FloodGuard final : public grpc::ContextAllocator {
 public:
  // Calls alive that are nobody's fault, whatever the number of connections.
  static constexpr int64_t kFreeCalls = 2048;
  // Who is behind is sent away only with more than this unread; a small call is never.
  static constexpr size_t kUnreadBytes = 16 << 10;

  explicit FloodGuard(int max_streams_per_connection) : max_streams_(max_streams_per_connection) {}

  // The port of the server; before it is known nothing is ended.
  void Watch(int port) { port_.store(port, std::memory_order_release); }

  // Returns whether more calls are alive than the present connections can have begun without
  // resets: the server is to take no further connection yet.
  bool IsFlooded() const;

  // gRPC calls these when it makes a call of its callback API, and when it has ended it. All
  // contexts are made here, those of calls that are not generic as ArrivedCalls: gRPC may release a
  // generic one by either function.
  grpc::CallbackServerContext* NewCallbackServerContext() override;
  grpc::GenericCallbackServerContext* NewGenericCallbackServerContext() override;
  void Release(grpc::CallbackServerContext* context) override;
  void Release(grpc::GenericCallbackServerContext* context) override;

 private:
  void Begin();
  void End() { calls_.fetch_sub(1, std::memory_order_relaxed); }
  // Returns whether it is time to look at the connections again; true for one thread only.
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
