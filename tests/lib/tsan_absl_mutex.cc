// Tells ThreadSanitizer what absl::Mutex, CondVar and Notification synchronize. Debian's Abseil is
// built without it, and uses futexes that it does not see, so it would report every access that
// they guard as a race. The linker finds the functions below before those of the library, which
// they call.
//
// tests/run links this file into every program of the TSan build. It is not instrumented itself.
#include <dlfcn.h>

#include "absl/time/time.h"

// Weak, so that a program without TSan, such as CMake's test of the compiler, still links.
extern "C" {
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
[[gnu::weak]] void AnnotateIgnoreReadsBegin(const char* file, int line);
[[gnu::weak]] void AnnotateIgnoreReadsEnd(const char* file, int line);
}

#define MUTEX "_ZN4absl7debian35Mutex"
#define CONDVAR "_ZN4absl7debian37CondVar"
#define NOTIFICATION "_ZN4absl7debian312Notification"
#define CONDITION "ERKNS0_9ConditionE"

// Begins the definition of the C++ function `symbol`, under the name `name`. Next_name() returns
// the library's function.
#define WRAP(result, name, symbol, ...)                                            \
  result name(__VA_ARGS__) asm(symbol);                                            \
  static auto Next_##name() {                                                      \
    using Function = decltype(&name);                                              \
    static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, symbol)); \
    return next;                                                                   \
  }                                                                                \
  result name(__VA_ARGS__)

WRAP(void, Lock, MUTEX "4LockEv", void* mu) {
  Next_Lock()(mu);
  __tsan_acquire(mu);
}

WRAP(void, ReaderLock, MUTEX "10ReaderLockEv", void* mu) {
  Next_ReaderLock()(mu);
  __tsan_acquire(mu);
}

WRAP(bool, TryLock, MUTEX "7TryLockEv", void* mu) {
  const bool locked = Next_TryLock()(mu);
  if (locked) __tsan_acquire(mu);
  return locked;
}

// The thread that unlocks evaluates the conditions of waiting threads. It still holds the mutex
// then, but has already reported the release here, so these reads are ignored.
WRAP(void, Unlock, MUTEX "6UnlockEv", void* mu) {
  __tsan_release(mu);
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  Next_Unlock()(mu);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

WRAP(void, ReaderUnlock, MUTEX "12ReaderUnlockEv", void* mu) {
  __tsan_release(mu);
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  Next_ReaderUnlock()(mu);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

namespace {

// Locks the mutex when a condition holds. The condition's reads, which happen under the mutex but
// inside the library, are ignored.
template <typename Wait>
auto TakeWhen(void* mu, Wait wait) {
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  auto result = wait();
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  __tsan_acquire(mu);
  return result;
}

// Reports the release of the mutex, waits, and reports that the mutex is locked again.
template <typename Wait>
auto WhileAway(void* mu, Wait wait) {
  __tsan_release(mu);
  return TakeWhen(mu, wait);
}

}  // namespace

WRAP(void, Await, MUTEX "5Await" CONDITION, void* mu, const void* condition) {
  WhileAway(mu, [=] {
    Next_Await()(mu, condition);
    return true;
  });
}

WRAP(bool, AwaitWithTimeout, MUTEX "16AwaitWithTimeout" CONDITION "NS0_8DurationE", void* mu,
     const void* condition, absl::Duration timeout) {
  return WhileAway(mu, [=] { return Next_AwaitWithTimeout()(mu, condition, timeout); });
}

WRAP(bool, AwaitWithDeadline, MUTEX "17AwaitWithDeadline" CONDITION "NS0_4TimeE", void* mu,
     const void* condition, absl::Time deadline) {
  return WhileAway(mu, [=] { return Next_AwaitWithDeadline()(mu, condition, deadline); });
}

WRAP(void, LockWhen, MUTEX "8LockWhen" CONDITION, void* mu, const void* condition) {
  TakeWhen(mu, [=] {
    Next_LockWhen()(mu, condition);
    return true;
  });
}

WRAP(bool, LockWhenWithTimeout, MUTEX "19LockWhenWithTimeout" CONDITION "NS0_8DurationE", void* mu,
     const void* condition, absl::Duration timeout) {
  return TakeWhen(mu, [=] { return Next_LockWhenWithTimeout()(mu, condition, timeout); });
}

WRAP(bool, LockWhenWithDeadline, MUTEX "20LockWhenWithDeadline" CONDITION "NS0_4TimeE", void* mu,
     const void* condition, absl::Time deadline) {
  return TakeWhen(mu, [=] { return Next_LockWhenWithDeadline()(mu, condition, deadline); });
}

WRAP(void, CondVarWait, CONDVAR "4WaitEPNS0_5MutexE", void* condvar, void* mu) {
  WhileAway(mu, [=] {
    Next_CondVarWait()(condvar, mu);
    return true;
  });
}

WRAP(bool, CondVarWaitWithTimeout, CONDVAR "15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE",
     void* condvar, void* mu, absl::Duration timeout) {
  return WhileAway(mu, [=] { return Next_CondVarWaitWithTimeout()(condvar, mu, timeout); });
}

WRAP(bool, CondVarWaitWithDeadline, CONDVAR "16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE",
     void* condvar, void* mu, absl::Time deadline) {
  return WhileAway(mu, [=] { return Next_CondVarWaitWithDeadline()(condvar, mu, deadline); });
}

WRAP(void, Notify, NOTIFICATION "6NotifyEv", void* notification) {
  __tsan_release(notification);
  Next_Notify()(notification);
}

WRAP(void, WaitForNotification, "_ZNK4absl7debian312Notification19WaitForNotificationEv",
     void* notification) {
  Next_WaitForNotification()(notification);
  __tsan_acquire(notification);
}

WRAP(bool, WaitForNotificationWithTimeout,
     "_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE",
     void* notification, absl::Duration timeout) {
  const bool notified = Next_WaitForNotificationWithTimeout()(notification, timeout);
  if (notified) __tsan_acquire(notification);
  return notified;
}
