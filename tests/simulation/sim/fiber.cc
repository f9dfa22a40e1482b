#include "tests/simulation/sim/fiber.h"

#include <utility>

#include "capstan/base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define CAPSTAN_ASAN_FIBERS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CAPSTAN_ASAN_FIBERS
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define CAPSTAN_TSAN_FIBERS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CAPSTAN_TSAN_FIBERS
#endif
#endif
#ifdef CAPSTAN_ASAN_FIBERS
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef CAPSTAN_TSAN_FIBERS
#include <sanitizer/tsan_interface.h>
#endif

namespace capstan::sim {
namespace {

constexpr size_t kStackBytes = 512 << 10;

thread_local Fiber* t_current = nullptr;

}  // namespace

Fiber* Fiber::Current() { return t_current; }

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {}

Fiber::~Fiber() {
  CAPSTAN_CHECK(over_ || !begun_);
#ifdef CAPSTAN_TSAN_FIBERS
  if (tsan_own_ != nullptr) __tsan_destroy_fiber(tsan_own_);
#endif
}

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

#if defined(CAPSTAN_ASAN_FIBERS)

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

#elif defined(CAPSTAN_TSAN_FIBERS)

void Fiber::Leaving(bool to_body, bool) {
  if (to_body && tsan_own_ == nullptr) tsan_own_ = __tsan_create_fiber(0);
  if (to_body) tsan_caller_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to_body ? tsan_own_ : tsan_caller_, 0);
}

void Fiber::Arrived(bool) {}

#else

void Fiber::Leaving(bool, bool) {}
void Fiber::Arrived(bool) {}

#endif

}  // namespace capstan::sim
