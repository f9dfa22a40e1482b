// Tells whether a process can still do its work: what its liveness probe is told, so that one that
// hangs is started again.
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

// What has been seen of a process. *Thread-compatible*.
class Pulse {
 public:
  // A turn of its loop takes at most so long.
  static constexpr absl::Duration kLongestTurn = absl::Seconds(30);
  static constexpr int kMostSilent = 3;  // Looks at its port, in a row.

  // A look at `now`: when its loop went round last, and whether its port answered. Whether it is
  // well.
  bool Look(absl::Time last_turn, bool port_answers, absl::Time now) {
    silent_ = port_answers ? 0 : silent_ + 1;
    return now - last_turn <= kLongestTurn && silent_ < kMostSilent;
  }

 private:
  int silent_ = 0;
};

// Looks at the process `every` few seconds, on a thread of its own. *Thread-safe*.
class Liveness {
 public:
  // The data port is that of `listen`, host:port, and `port`. `health` must outlive this object.
  Liveness(HealthServer& health, const std::string& listen, int port,
           absl::Duration every = absl::Seconds(5));
  ~Liveness();
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

  // The process's loop has gone round.
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
