// The returns to a checkpoint, of everybody or of single shards, and what they have cost.
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
  // Timelines begin with `term`: where nothing is stored, this chief knows of no earlier ones, but
  // their timelines are lower than its term.
  Recoveries(uint64_t term, const v1::JobSpec& spec)
      : lost_updates(spec), next_timeline(term), first_timeline(term) {}

  // Reads a checkpoint and has shards load it: all of them where everybody returns, and those of
  // `partial` alone where they do.
  Recovery restoration;
  std::map<uint32_t, v1::RecoveryLoss> partial;  // The shards that return alone.
  // What earlier returns have lost. A job that was only started again, and trains nothing again,
  // has lost nothing.
  std::vector<v1::RecoveryLoss> losses;
  LostUpdatesMeter lost_updates;
  uint64_t restores = 0;
  uint64_t next_timeline;     // The timeline that the next recovery begins.
  uint64_t first_timeline;    // The timeline with which this run of the job began.
  bool begins_again = false;  // An earlier chief has begun this run.
  std::string from;           // The checkpoint of another job or run that this one began with.
  // The checkpoint from which this chief has gone on with a job that had ended as a whole.
  std::string resumed_from;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_RECOVERIES_H_
