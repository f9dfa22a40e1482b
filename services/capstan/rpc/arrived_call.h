// Counts the calls of a server that have arrived and wait for a thread, as gRPC does not show this
// queue.
#ifndef CAPSTAN_RPC_ARRIVED_CALL_H_
#define CAPSTAN_RPC_ARRIVED_CALL_H_

#include <grpcpp/server_context.h>

#include <atomic>
#include <cstdint>

namespace capstan {

// Counts the calls of a server that have arrived and wait for a thread. *Thread-safe*.
class Arrivals {
 public:
  void Come() { waiting_.fetch_add(1, std::memory_order_relaxed); }

  // A call waits no longer. `wanted`: its caller has not cancelled it. Returns an estimate of how
  // many of the waiting calls are wanted, by the share of wanted ones among the latest calls.
  // Cancelled calls do not count, because a flood of reset calls causes no work, and is no reason
  // to refuse others.
  int64_t Leave(bool wanted) {
    const int64_t waiting = waiting_.fetch_sub(1, std::memory_order_relaxed) - 1;
    int64_t share = wanted_.load(std::memory_order_relaxed);
    share += ((wanted ? kWhole : 0) - share) / kSmoothed;
    wanted_.store(share, std::memory_order_relaxed);  // A lost update does not matter.
    return waiting * share / kWhole;
  }

  int64_t waiting() const { return waiting_.load(std::memory_order_relaxed); }

 private:
  static constexpr int64_t kWhole = 1 << 20;
  static constexpr int64_t kSmoothed = 32;  // The share is averaged over about this many calls.

  std::atomic<int64_t> waiting_{0};
  std::atomic<int64_t> wanted_{kWhole};
};

// The context of a call of the callback API. The call counts as waiting from when gRPC has created
// it, on the thread that reads, until its handler begins or it ends without that. *Thread-safe*, as
// far as gRPC's context is.
class ArrivedCall final : public grpc::CallbackServerContext {
 public:
  // `arrivals` must outlive the call.
  explicit ArrivedCall(Arrivals& arrivals) : arrivals_(arrivals) { arrivals_.Come(); }
  ~ArrivedCall() override {
    if (!begun_) (void)arrivals_.Leave(/*wanted=*/false);
  }

  // The call's handler begins. Returns what Arrivals::Leave returns. REQUIRES: called once.
  int64_t Begin(bool wanted) {
    begun_ = true;
    return arrivals_.Leave(wanted);
  }

 private:
  Arrivals& arrivals_;
  bool begun_ = false;
};

// Must be called when a handler begins, at most once for each call. Returns how many other calls of
// the server wait for a thread and are wanted; 0 if they are not counted.
inline int64_t BeginCall(grpc::CallbackServerContext& context) {
  auto* const call = dynamic_cast<ArrivedCall*>(&context);
  return call == nullptr ? 0 : call->Begin(!context.IsCancelled());
}

}  // namespace capstan

#endif  // CAPSTAN_RPC_ARRIVED_CALL_H_
