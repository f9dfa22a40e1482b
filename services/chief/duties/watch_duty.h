// Warns people of odd things about workers, data and memory, and logs now and then what the job
// waits for.
#ifndef CAPSTAN_CHIEF_DUTIES_WATCH_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_WATCH_DUTY_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "chief/duties/duty.h"

namespace capstan::chief {

class WatchDuty : public Duty {
 public:
  using Duty::Duty;

  // Sets how the job file differs from the running job; empty: it does not.
  void NoteJobChange(std::string change);
  void WatchData();
  void WatchIdleWorkers();
  // Warns of shards that turn requests away because a share of their memory is full.
  void WatchMemory(absl::Time now);
  // Warns if the chief has nearly as many files and connections open as `limit` lets it have.
  void WatchOpenFiles(int64_t open, int64_t limit);
  // Warns of shards that may not have as many files and connections open as they will have once all
  // workers that have registered are connected.
  void WatchOpenFilesOfShards();
  void WatchStragglers(absl::Time now);
  void LogWaiting(absl::Time now);

  void Fill(v1::GetStatusReply& reply) const { reply.set_job_change(job_change_); }

 private:
  std::string job_change_;
  std::set<std::string> full_;                   // What WatchMemory warns of.
  bool short_of_files_ = false;                  // WatchOpenFiles warns.
  absl::Time looked_at_ = absl::InfinitePast();  // When LogWaiting last looked.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_WATCH_DUTY_H_
