// What a person should look at, by workers and data, and what the job waits for, now and then in
// the log.
#ifndef CAPSTAN_CHIEF_DUTIES_WATCH_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_WATCH_DUTY_H_

#include <set>
#include <string>

#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "chief/duties/duty.h"

namespace capstan::chief {

class WatchDuty : public Duty {
 public:
  using Duty::Duty;

  // What the job file says and this job does not do; empty: nothing.
  void NoteJobChange(std::string change);
  void WatchData();
  void WatchIdleWorkers();
  // The shards that turn requests away, as a share of their memory is full.
  void WatchMemory(absl::Time now);
  void WatchStragglers(absl::Time now);
  void LogWaiting(absl::Time now);

  void Fill(v1::GetStatusReply& reply) const { reply.set_job_change(job_change_); }

 private:
  std::string job_change_;
  std::set<std::string> full_;                   // What WatchMemory warns of.
  absl::Time looked_at_ = absl::InfinitePast();  // What the job waits for, last.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_WATCH_DUTY_H_
