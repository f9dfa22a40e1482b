// One member of the job: a compute thread and the leases it works on.
#ifndef CAPSTAN_WORKER_MEMBER_H_
#define CAPSTAN_WORKER_MEMBER_H_

#include <memory>
#include <vector>

#include "capstan/v1/view.pb.h"
#include "worker/held_leases.h"
#include "worker/lease_runner.h"

namespace capstan::worker {

// What the members of a worker share. All of it outlives them.
struct WorkerContext {
  const v1::JobSpec& job;
  const ParameterMap& parameters;
  const Clock& clock;
  EventLoop& loop;
  BatchPrefetcher& prefetcher;
  StepPool& steps;
  const JobProgress& progress;
  WorkerMetrics& metrics;
};

// The first batch of a spare task is read while another is worked on; the computations of lanes and
// evaluations take turns. Confined to the event loop.
class Member {
 public:
  // What `worker` refers to must outlive the member.
  Member(const WorkerContext& worker, MemberId id, std::unique_ptr<Network> network,
         const ComputeOptions& compute);

  HeldLeases& leases() { return leases_; }
  const HeldLeases& leases() const { return leases_; }
  void OnView(const v1::View& view, const std::vector<ShardIndex>& restarted);
  void ReportTo(SessionMachine& session) { leases_.ReportTo(session, times_.BusySeconds()); }

  MemberId id() const { return id_; }
  const StepTimes& times() const { return times_; }

 private:
  const MemberId id_;
  PsClient client_;
  MemberClock clock_;
  StepTimes times_;
  ComputeThread compute_;
  LaneTurns turns_;
  MemberContext context_;
  HeldLeases leases_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MEMBER_H_
