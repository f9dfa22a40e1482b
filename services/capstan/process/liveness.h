// Answers the liveness probe of a process according to whether the process can still do its work,
// so that one that hangs is restarted.
#ifndef CAPSTAN_PROCESS_LIVENESS_H_
#define CAPSTAN_PROCESS_LIVENESS_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/rpc/health.h"

namespace capstan {

// Judges from observations whether a process is alive. *Thread-compatible*.
class Pulse {
 public:
  // The longest time that a turn of its loop may take.
  static constexpr absl::Duration kLongestTurn = absl::Seconds(30);
  // If its port does not answer this many times in a row, it hangs.
  static constexpr int kMostSilent = 3;

  // Takes in an observation at `now`: when the process's loop last completed a turn, and whether
  // its port answered. Returns true if the process is alive.
  bool Look(absl::Time last_turn, bool port_answers, absl::Time now) {
    silent_ = port_answers ? 0 : silent_ + 1;
    return now - last_turn <= kLongestTurn && silent_ < kMostSilent;
  }

 private:
  int silent_ = 0;
};

// Observes the process regularly, on a separate thread. *Thread-safe*.
class Liveness {
 public:
  // Connects at intervals of `every` to the data port: `port` on the host of `listen` (host:port).
  // `health` must outlive this object.
  Liveness(HealthServer& health, const std::string& listen, int port,
           absl::Duration every = absl::Seconds(5));
  ~Liveness();
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

  // Must be called each time the process's loop has completed a turn.
  void Turn() { last_turn_ = absl::ToUnixNanos(clock_.Now()); }

 private:
  void Run();

  HealthServer& health_;
  const std::string host_;
  const int port_;
  const absl::Duration every_;
  const SteadyClock clock_;
  std::atomic<int64_t> last_turn_;  // Nanoseconds of the clock.
  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_LIVENESS_H_
