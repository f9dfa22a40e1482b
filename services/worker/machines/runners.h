// From a lease, as the chief grants it, to the machine that works on it.
#ifndef CAPSTAN_WORKER_MACHINES_RUNNERS_H_
#define CAPSTAN_WORKER_MACHINES_RUNNERS_H_

#include <memory>
#include <vector>

#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "worker/machines/lane_turns.h"
#include "worker/machines/runner_machine.h"

namespace capstan::worker {

std::unique_ptr<RunnerMachine> NewRunner(const v1::JobSpec& job, const v1::Lease& lease,
                                         std::vector<ShardIndex> shards);

// Returns in which order the lanes of a trainer have their turns: in that of the lanes, where
// shards add gradients in it as they come.
LaneTurns::Order OrderOfTurns(const v1::JobSpec& job);

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_RUNNERS_H_
