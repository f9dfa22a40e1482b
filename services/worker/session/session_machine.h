// What a worker process tells the chief and is told: its trainers, its leases, its wishes for more.
// All of it goes through one call, the heartbeat, which is sent every `heartbeat` and at once when
// something is urgent: a trainer wants a lease, a lease has ended, or so much has been trained that
// whatever follows the job's progress would come late.
//
// Reports are cumulative per lease, so a heartbeat that is lost or repeated changes nothing. The
// last report of a lease is repeated until a heartbeat that carried it has been answered by a chief
// that knows this process; a chief that has taken over from another is told of all leases that are
// held.
#ifndef CAPSTAN_WORKER_SESSION_SESSION_MACHINE_H_
#define CAPSTAN_WORKER_SESSION_SESSION_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/job_progress.h"
#include "capstan/v1/chief.pb.h"

namespace capstan::worker {

// The shortest time between two urgent heartbeats.
inline constexpr absl::Duration kSoonest = absl::Milliseconds(2);

struct SessionOptions {
  std::string name;
  Incarnation incarnation{};
  std::vector<TrainerId> trainers;
  absl::Duration heartbeat = absl::Seconds(1);
  absl::Duration soonest = kSoonest;
  // How long a trainer's unmet wish for a lease waits before it is repeated; doubles each time.
  absl::Duration patience = absl::Milliseconds(25);
  // The most bytes of results of evaluations in one heartbeat, but for its first one: well below
  // what a message may have. One that keeps examples with groups may be of 18 MB.
  size_t most_result_bytes = size_t{32} << 20;
};

// What the chief's answer to a heartbeat says is to be done.
struct Orders {
  bool known = true;  // False: the chief does not know this incarnation; register it.
  std::vector<v1::Lease> granted;
  std::vector<v1::Lease> extended;  // Further tasks of a lane that is held already.
  std::vector<Generation> revoked;
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
  JobProgress progress;
  uint64_t trainers = 0;  // How many trainers all workers have together; 0: the chief has not said.
};

// Thread-compatible.
class SessionMachine {
 public:
  explicit SessionMachine(SessionOptions options);

  // ---- what happened ----

  void SetClock(TrainerId trainer, uint64_t clock);
  void SetStepSeconds(TrainerId trainer, double seconds);
  // Whether the trainer wants a lease, to begin it or to hold it as a spare one.
  void SetWantsLease(TrainerId trainer, bool wants);
  void SetReport(const v1::WorkerReport& report) { report_ = report; }
  // Replaces the last report of the same generation. With `finished`, `returned` or `error` the
  // lease has ended. A report of a generation that is not held is ignored: its lease has been
  // revoked.
  void Report(const v1::LeaseReport& report);
  // From now on the worker asks for no lease and tells the chief that it leaves.
  void Drain();
  // Forgets all leases of timelines before `timeline`, which are void.
  void ForgetBefore(uint64_t timeline);
  // `examples`: how many this process has trained since it began.
  void SetTrained(uint64_t examples);
  // A heartbeat is due whenever `examples` more have been trained, but not sooner than `gap` after
  // the heartbeat before. With 0 examples only the regular heartbeats are sent.
  void SetTellEvery(uint64_t examples, absl::Duration gap) {
    tell_every_ = examples;
    tell_gap_ = gap;
  }
  // The next heartbeat is urgent.
  void Hurry() { urgent_ = true; }

  // ---- the heartbeat ----

  // When to call BeginHeartbeat(). InfiniteFuture while a heartbeat is under way, for at most one
  // is. EndHeartbeat() or HeartbeatFailed() ends it.
  absl::Time NextHeartbeat() const;
  v1::WorkerHeartbeatRequest BeginHeartbeat(absl::Time now);
  Orders EndHeartbeat(const v1::WorkerHeartbeatReply& reply, absl::Time now);
  void HeartbeatFailed(absl::Time now);

  // ---- what is so ----

  bool draining() const { return draining_; }
  size_t leases() const { return leases_.size(); }
  // True when the process may end without anybody waiting for it: it holds no lease, and the chief
  // has heard that it leaves, or has said that the job is over.
  bool Settled() const { return leases_.empty() && (leave_told_ || over_); }

  // For the explorer of the simulation: what a heartbeat would tell, in one line, equal for equal
  // states (times do not show).
  std::string DebugString() const;

 private:
  struct Trainer {
    uint64_t clock = 0;
    double step_seconds = 0;
    bool wants_lease = false;
  };
  struct Held {
    v1::LeaseReport report;
    bool ended = false;
    bool sent_end = false;  // The heartbeat under way tells that it has ended.
  };

  const SessionOptions options_;
  std::map<TrainerId, Trainer> trainers_;
  std::map<Generation, Held> leases_;
  v1::WorkerReport report_;
  uint64_t trained_ = 0;
  uint64_t trained_told_ = 0;  // As of the last heartbeat that was sent.
  uint64_t tell_every_ = 0;
  absl::Duration tell_gap_;
  bool draining_ = false;
  bool leave_sent_ = false;  // The heartbeat under way says that the worker leaves.
  bool leave_told_ = false;
  bool over_ = false;  // The job is over, as the chief said last.
  bool under_way_ = false;
  bool urgent_ = true;
  absl::Time last_sent_ = absl::InfinitePast();
  absl::Time wish_repeats_ =
      absl::InfiniteFuture();  // When an unmet wish makes the heartbeat urgent.
  absl::Duration patience_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SESSION_SESSION_MACHINE_H_
