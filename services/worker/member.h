// One member of the job: a compute thread and the leases it works on.
#ifndef CAPSTAN_WORKER_MEMBER_H_
#define CAPSTAN_WORKER_MEMBER_H_

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "capstan/v1/view.pb.h"
#include "worker/lease_runner.h"
#include "worker/session_machine.h"

namespace capstan::worker {

// What the members of a worker share. All of it outlives them.
struct WorkerContext {
  const v1::JobSpec& job;
  const ParameterMap& parameters;
  const Clock& clock;
  EventLoop& loop;
  BatchPrefetcher& prefetcher;
  StepPool& steps;
  WorkerMetrics& metrics;
};

// Works on one task at a time and keeps a spare one, whose first batch is being read meanwhile; on
// all of its lanes and evaluations at once, whose computations take turns. Confined to the event
// loop.
class Member {
 public:
  // What `worker` refers to must outlive the member.
  Member(const WorkerContext& worker, MemberId id, std::unique_ptr<Network> network,
         const ComputeOptions& compute);

  void Grant(const v1::Lease& lease);
  void Extend(const v1::Lease& lease);
  void Revoke(const Generation& generation);
  // What was granted in an earlier timeline than this is void.
  void ForgetBefore(uint64_t timeline);
  // Steps under way are finished, everything else is given back by the deadline.
  void BeginDrain(absl::Time deadline);
  void OnView(const v1::View& view, const std::vector<ShardIndex>& restarted);

  absl::Time NextWake() const;
  void Wake(absl::Time now);

  // Tells the session of all leases, and forgets those that are over.
  void ReportTo(SessionMachine& session);

  MemberId id() const { return id_; }
  const StepTimes& times() const { return times_; }
  bool HasEnded() const;  // A lease is over and not yet reported.

 private:
  bool MayBegin(const v1::Lease& lease) const;
  void BeginWaiting();
  bool HasTask() const;

  const MemberId id_;
  PsClient client_;
  MemberClock clock_;
  StepTimes times_;
  ComputeThread compute_;
  MemberContext context_;
  std::map<Generation, std::unique_ptr<LeaseRunner>> runners_;
  // Not begun: spare tasks, and whatever comes before the first view that says where the partitions
  // are.
  std::deque<v1::Lease> waiting_;
  bool draining_ = false;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MEMBER_H_
