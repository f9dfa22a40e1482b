// Returns to a checkpoint, by all shards or by single ones, and what has been lost by them.
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
  // Timelines are numbered from `term` on: if nothing is stored, this chief does not know the
  // earlier ones, but they are lower than its term.
  Recoveries(uint64_t term, const v1::JobSpec& spec)
      : lost_updates(spec), next_timeline(term), first_timeline(term) {}

  // Reads a checkpoint and has shards load it: all shards, or in a partial recovery only those in
  // `partial`.
  Recovery restoration;
  std::map<uint32_t, v1::RecoveryLoss> partial;  // The shards that return alone.
  // What earlier recoveries have lost. A restart of the job that trains nothing again is not in it.
  std::vector<v1::RecoveryLoss> losses;
  LostUpdatesMeter lost_updates;
  uint64_t restores = 0;
  uint64_t next_timeline;     // The timeline that the next recovery begins.
  uint64_t first_timeline;    // The first timeline of this run of the job.
  bool begins_again = false;  // An earlier chief has begun this run.
  std::string from;           // The checkpoint of another job or run from which this one started.
  // The checkpoint from which this chief has resumed a job after all of its processes had ended.
  std::string resumed_from;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_RECOVERIES_H_
