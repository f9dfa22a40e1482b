#include "tests/simulation/sim/fiber.h"

#include <utility>

#include "capstan/base/check.h"

// GCC says so with the first, clang with the second.
#if defined(__SANITIZE_ADDRESS__)
#define CAPSTAN_ASAN_FIBERS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CAPSTAN_ASAN_FIBERS
#endif
#endif
#ifdef CAPSTAN_ASAN_FIBERS
#include <sanitizer/common_interface_defs.h>
#endif

namespace capstan::sim {
namespace {

constexpr size_t kStackBytes = 512 << 10;

thread_local Fiber* t_current = nullptr;

}  // namespace

Fiber* Fiber::Current() { return t_current; }

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {}

Fiber::~Fiber() { CAPSTAN_CHECK(over_ || !begun_); }

void Fiber::Resume() {
  CAPSTAN_CHECK(!over_);
  outer_ = std::exchange(t_current, this);
  if (!std::exchange(begun_, true)) {
    stack_.reset(new char[kStackBytes]);
    CAPSTAN_CHECK(getcontext(&own_) == 0);
    own_.uc_stack.ss_sp = stack_.get();
    own_.uc_stack.ss_size = kStackBytes;
    own_.uc_link = nullptr;
    makecontext(&own_, &Fiber::Enter, 0);
  }
  Leaving(/*to_body=*/true, /*for_ever=*/false);
  CAPSTAN_CHECK(swapcontext(&caller_, &own_) == 0);
  Arrived(/*in_body=*/false);
  t_current = outer_;
  if (over_) stack_.reset();
}

void Fiber::Wait() {
  CAPSTAN_CHECK(t_current == this);
  Leaving(/*to_body=*/false, /*for_ever=*/false);
  CAPSTAN_CHECK(swapcontext(&own_, &caller_) == 0);
  Arrived(/*in_body=*/true);
}

void Fiber::Enter() { t_current->Run(); }

void Fiber::Run() {
  Arrived(/*in_body=*/true);
  body_();
  over_ = true;
  Leaving(/*to_body=*/false, /*for_ever=*/true);
  setcontext(&caller_);
}

#ifdef CAPSTAN_ASAN_FIBERS

void Fiber::Leaving(bool to_body, bool for_ever) {
  const void* const stack = to_body ? stack_.get() : caller_stack_;
  void** const kept = to_body ? &caller_fake_stack_ : &own_fake_stack_;
  __sanitizer_start_switch_fiber(for_ever ? nullptr : kept, stack,
                                 to_body ? kStackBytes : caller_stack_size_);
}

void Fiber::Arrived(bool in_body) {
  __sanitizer_finish_switch_fiber(in_body ? own_fake_stack_ : caller_fake_stack_,
                                  in_body ? &caller_stack_ : nullptr,
                                  in_body ? &caller_stack_size_ : nullptr);
}

#else

void Fiber::Leaving(bool, bool) {}
void Fiber::Arrived(bool) {}

#endif

}  // namespace capstan::sim
