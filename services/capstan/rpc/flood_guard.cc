#include "capstan/rpc/flood_guard.h"

#include <grpcpp/generic/async_generic_service.h>

#include <algorithm>
#include <vector>

#include "capstan/rpc/accepted_sockets.h"

namespace capstan {
namespace {

// The time between two checks of the connections, each of which costs some system calls.
constexpr absl::Duration kPeriod = absl::Milliseconds(20);

}  // namespace

grpc::CallbackServerContext* FloodGuard::NewCallbackServerContext() {
  Begin();
  return new ArrivedCall(arrivals_);
}

void FloodGuard::Release(grpc::CallbackServerContext* context) {
  delete context;
  End();
}

grpc::GenericCallbackServerContext* FloodGuard::NewGenericCallbackServerContext() {
  Begin();
  return new grpc::GenericCallbackServerContext;
}

void FloodGuard::Release(grpc::GenericCallbackServerContext* context) {
  delete context;
  End();
}

void FloodGuard::Begin() {
  const int64_t calls = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (calls > kFreeCalls && TakeTurn()) EndFloods(calls);
}

bool FloodGuard::TakeTurn() {
  const int64_t now = absl::ToUnixNanos(clock_.Now());
  int64_t next = next_turn_ns_.load(std::memory_order_relaxed);
  return now >= next &&
         next_turn_ns_.compare_exchange_strong(next, now + absl::ToInt64Nanoseconds(kPeriod));
}

bool FloodGuard::IsFlood(int64_t calls, size_t connections) const {
  // Twice, because a call exists a little longer than its stream even without resets.
  return calls > 2 * max_streams_ * static_cast<int64_t>(connections);
}

bool FloodGuard::IsFlooded() const {
  const int64_t calls = calls_.load(std::memory_order_relaxed);
  return calls > kFreeCalls && IsFlood(calls, AcceptedSockets(port_).size());
}

void FloodGuard::EndFloods(int64_t calls) {
  const std::vector<AcceptedSocket> sockets = AcceptedSockets(port_);
  if (!IsFlood(calls, sockets.size())) return;
  int ended = 0;
  for (const AcceptedSocket& socket : sockets) {
    if (socket.unread < kUnreadBytes) continue;
    HangUp(socket);
    ++ended;
  }
  if (ended == 0) return;
  log_.Warn("connections ended: calls were reset faster than they end",
            {{"connections", ended}, {"calls", calls}});
}

}  // namespace capstan
