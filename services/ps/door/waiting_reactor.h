// The reactor of a unary call that may be answered later, on another thread, or be cancelled
// meanwhile.
#ifndef CAPSTAN_PS_DOOR_WAITING_REACTOR_H_
#define CAPSTAN_PS_DOOR_WAITING_REACTOR_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "ps/machines/waiter.h"
#include "ps/partition/memory_budget.h"

namespace capstan::ps {

// Finish() is called exactly once: by the code that takes the call out of its ParkedCalls.
// *Thread-safe*.
class WaitingReactor final : public grpc::ServerUnaryReactor {
 public:
  // The reactor lives until gRPC has finished the call and nobody holds the pointer any more.
  static std::shared_ptr<WaitingReactor> Make() {
    std::shared_ptr<WaitingReactor> reactor(new WaitingReactor);
    reactor->self_ = reactor;
    return reactor;
  }

  // Holds `reservation` as long as gRPC holds the reply. Must be called before Finish.
  void Keep(Reservation reservation) { reservation_ = std::move(reservation); }

  // The call has been parked. `forget` removes it, and returns true if it will not be answered. It
  // is called when the call is cancelled, and at once if that has happened already.
  void SetForget(absl::AnyInvocable<bool()> forget) {
    {
      absl::MutexLock lock(&mu_);
      forget_ = std::move(forget);
      if (!cancelled_) return;
    }
    Forget();
  }

  void OnCancel() override {
    {
      absl::MutexLock lock(&mu_);
      cancelled_ = true;
    }
    Forget();
  }

  // Others may still refer to this object, so the reservation is dropped here.
  void OnDone() override {
    reservation_.reset();
    self_.reset();
  }

  // OnDone and OnCancel are short and do not block, so gRPC need not pass them to another thread.
  // gRPC calls this function internal, but there is no other way to say so.
  bool InternalInlineable() override { return true; }

 private:
  WaitingReactor() = default;

  void Forget() {
    absl::AnyInvocable<bool()> forget;
    {
      absl::MutexLock lock(&mu_);
      forget = std::move(forget_);
      forget_ = nullptr;
    }
    if (forget && forget()) Finish(grpc::Status::CANCELLED);
  }

  std::shared_ptr<WaitingReactor> self_;  // Represents gRPC's reference.
  Reservation reservation_;
  absl::Mutex mu_;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  absl::AnyInvocable<bool()> forget_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_DOOR_WAITING_REACTOR_H_
