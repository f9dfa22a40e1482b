// Named points of the program at which a test can make a process crash, fail or be slow.
//
//   CAPSTAN_FAILPOINT("view.published");                                  // crash or delay
//   CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("manifest.write"));  // or an error
//
// Failpoints are compiled in only with the CMake option CAPSTAN_FAILPOINTS; without it the binary
// contains nothing of them, not even their names. The environment says which are armed:
//
//   CAPSTAN_FAILPOINTS  = "list" | setting {"," setting}
//   setting             = name "=" action [":" nth]
//   action              = "crash"             ends the process as kill -9 would
//                       | "error"             UNAVAILABLE, where the point returns a status
//                       | "delay(" ms ")"     sleeps, every time from the nth on
//
// The action happens the nth time (default: the first time) that the process reaches the point.
// "list" prints the program's failpoints, with "error" after the names of those that can return
// one, and ends the process with 0; an invalid setting ends it with 2. A failpoint that is not
// armed costs one read of a variable.
#ifndef CAPSTAN_BASE_FAILPOINT_H_
#define CAPSTAN_BASE_FAILPOINT_H_

#include "absl/status/status.h"

#ifdef CAPSTAN_FAILPOINTS

#include <atomic>
#include <cstdint>

namespace capstan {

// One point. Thread-safe.
class Failpoint {
 public:
  enum class Kind { kPlain, kReturnsStatus };
  enum class Action { kNone, kCrash, kError, kDelay };

  constexpr Failpoint(Kind kind, const char* name) : kind_(kind), name_(name) {}

  Kind kind() const { return kind_; }
  const char* name() const { return name_; }

  // Called before main, when there is only one thread.
  void Arm(Action action, int64_t nth, int64_t delay_ms);

  absl::Status Reach() {
    if (action_.load(std::memory_order_relaxed) == Action::kNone) return absl::OkStatus();
    return ReachArmed();
  }

 private:
  absl::Status ReachArmed();

  const Kind kind_;
  const char* const name_;
  std::atomic<Action> action_{Action::kNone};
  std::atomic<int64_t> times_left_{0};
  int64_t delay_ms_ = 0;
};

}  // namespace capstan

// The linker collects the addresses of all failpoints of a program in a separate section. Must not
// be used in templates and inline functions, which are in other sections.
#define CAPSTAN_FAILPOINT_REACH_(kind, name)                                                       \
  ([]() -> ::absl::Status {                                                                        \
    static constinit ::capstan::Failpoint point(::capstan::Failpoint::Kind::kind, name);           \
    [[gnu::used, gnu::section("capstan_failpoints")]] static ::capstan::Failpoint* entry = &point; \
    return entry->Reach();                                                                         \
  }())
#define CAPSTAN_FAILPOINT(name) (void)CAPSTAN_FAILPOINT_REACH_(kPlain, name)
#define CAPSTAN_FAILPOINT_STATUS(name) CAPSTAN_FAILPOINT_REACH_(kReturnsStatus, name)

#else

#define CAPSTAN_FAILPOINT(name) static_cast<void>(0)
#define CAPSTAN_FAILPOINT_STATUS(name) ::absl::OkStatus()

#endif  // CAPSTAN_FAILPOINTS

#endif  // CAPSTAN_BASE_FAILPOINT_H_
