// The ways back to a checkpoint: of everybody, of one shard alone, and what they have cost.
#ifndef CAPSTAN_CHIEF_JOB_RECOVERIES_H_
#define CAPSTAN_CHIEF_JOB_RECOVERIES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "chief/machines/lost_updates_meter.h"
#include "chief/machines/recovery.h"

namespace capstan::chief {

// Thread-compatible.
struct Recoveries {
  // Where nothing is stored nobody knows of earlier chiefs; their timelines are lower than `term`
  // all the same.
  Recoveries(uint64_t term, const v1::JobSpec& spec)
      : lost_updates(spec), next_timeline(term), first_timeline(term) {}

  Recovery rollback;                             // Everybody returns to a checkpoint.
  std::map<uint32_t, v1::RecoveryLoss> partial;  // By shard that is on its way back alone.
  std::vector<v1::RecoveryLoss> losses;          // What the returns that are over have lost.
  LostUpdatesMeter lost_updates;
  uint64_t restores = 0;
  uint64_t next_timeline;     // The timeline that the next recovery begins.
  uint64_t first_timeline;    // The timeline with which this run of the job began.
  bool begins_again = false;  // It is not this run's first chief.
  std::string from;           // The checkpoint, of another run or job, that the job began with.
  std::string resumed_from;   // The checkpoint with which this chief went on.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_RECOVERIES_H_
