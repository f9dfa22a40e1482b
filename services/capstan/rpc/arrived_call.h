// How many calls of a server have come and wait for a thread: the queue that gRPC does not show.
#ifndef CAPSTAN_RPC_ARRIVED_CALL_H_
#define CAPSTAN_RPC_ARRIVED_CALL_H_

#include <grpcpp/server_context.h>

#include <atomic>
#include <cstdint>

namespace capstan {

// The calls of a server that have come and wait for a thread. *Thread-safe*.
class Arrivals {
 public:
  void Come() { waiting_.fetch_add(1, std::memory_order_relaxed); }

  // One waits no longer; `wanted`: its caller has not given it up. Gives how many of those that
  // wait are wanted, if as many of them are as were lately: a flood of calls that are reset is no
  // work, and nobody is to be refused for it.
  int64_t Leave(bool wanted) {
    const int64_t waiting = waiting_.fetch_sub(1, std::memory_order_relaxed) - 1;
    int64_t share = wanted_.load(std::memory_order_relaxed);
    share += ((wanted ? kWhole : 0) - share) / kSmoothed;
    wanted_.store(share, std::memory_order_relaxed);  // One more or less does not matter.
    return waiting * share / kWhole;
  }

  int64_t waiting() const { return waiting_.load(std::memory_order_relaxed); }

 private:
  static constexpr int64_t kWhole = 1 << 20;
  static constexpr int64_t kSmoothed = 32;  // Over so many calls.

  std::atomic<int64_t> waiting_{0};
  std::atomic<int64_t> wanted_{kWhole};
};

// The context of a call of the callback API, which waits from when gRPC has made it, on the thread
// that reads, until its handler begins or it has ended without one. *Thread-safe*, as far as gRPC
// makes it so.
class ArrivedCall final : public grpc::CallbackServerContext {
 public:
  // `arrivals` must outlive the call.
  explicit ArrivedCall(Arrivals& arrivals) : arrivals_(arrivals) { arrivals_.Come(); }
  ~ArrivedCall() override {
    if (!begun_) (void)arrivals_.Leave(/*wanted=*/false);
  }

  // Its handler begins. As Arrivals::Leave. REQUIRES: called once.
  int64_t Begin(bool wanted) {
    begun_ = true;
    return arrivals_.Leave(wanted);
  }

 private:
  Arrivals& arrivals_;
  bool begun_ = false;
};

// A handler begins. Gives how many other calls of its server wait for a thread and are wanted; 0
// where nobody counts them. At most once a call.
inline int64_t BeginCall(grpc::CallbackServerContext& context) {
  auto* const call = dynamic_cast<ArrivedCall*>(&context);
  return call == nullptr ? 0 : call->Begin(!context.IsCancelled());
}

}  // namespace capstan

#endif  // CAPSTAN_RPC_ARRIVED_CALL_H_
