// Warns people of unusual conditions of workers, data and memory, and logs at intervals what the
// job waits for.
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
  // Warns of shards that refuse requests because a share of their memory is full.
  void WatchMemory(absl::Time now);
  // Warns if the number of files and connections that the chief has open is close to `limit`.
  void WatchOpenFiles(int64_t open, int64_t limit);
  // Warns of shards whose limit of open files and connections is too low for all registered workers
  // to connect to them.
  void WatchOpenFilesOfShards();
  void WatchStragglers(absl::Time now);
  void LogWaiting(absl::Time now);

  void Fill(v1::GetStatusReply& reply) const { reply.set_job_change(job_change_); }

 private:
  std::string job_change_;
  std::set<std::string> full_;                   // The shares of memory that WatchMemory warns of.
  bool short_of_files_ = false;                  // WatchOpenFiles warns.
  absl::Time looked_at_ = absl::InfinitePast();  // When LogWaiting last checked.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_WATCH_DUTY_H_
