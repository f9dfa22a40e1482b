// What is told the trace (capstan/base/trace) of synchronous rounds. By the coordinator: that it
// begins, which lane's runner a round was opened to, whose gradient it has counted, which lane is
// at its end, and with whom a round was closed. By a partition: a pull for a round that it answers,
// the gradient of a lane that it has staged or added ahead, and a round that it has passed.
//
// A runner of a lane is named by its generation: `term` and `count`. Several are written as in
// "0:1.4 2:1.7": lane, term, count.
#ifndef CAPSTAN_PS_SHARD_TRACED_ROUNDS_H_
#define CAPSTAN_PS_SHARD_TRACED_ROUNDS_H_

#include <cstdint>
#include <span>

#include "capstan/base/ids.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/ps.pb.h"
#include "ps/machines/coordinator_machine.h"
#include "ps/machines/decision.h"
#include "ps/shard/push_message.h"

namespace capstan::ps {

// Each does nothing unless the process writes a trace, and is called under the lock that guards
// what it tells.

// ---- by the coordinator ----

// The coordinator of a timeline begins after `closed` rounds, with the lanes of this policy.
void TraceCoordinates(uint64_t timeline, const v1::UpdatePolicy& policy, uint64_t closed);
// A report to which the coordinator gave this answer.
void TraceReported(const v1::ReportLaneRequest& report, v1::ReportLaneReply::Answer answer);
// What a call has come to: the round that was open before, if it is closed now, and the answers by
// which a round is opened to lanes.
void TraceOpenRound(uint64_t before, const RoundCommit& last, const CoordinatorAnswers& answers);

// ---- by a partition ----

// A pull is answered; the partition has passed `passed` rounds.
void TracePulled(PartitionIndex partition, const v1::PullRequest& pull, uint64_t passed);
// A push has come to this: it is told if a gradient was staged by it.
void TraceStaged(const PushShare& share, const v1::PartitionOutcome& outcome);
// Gradients of the open round are added ahead, in this order.
void TraceAdded(PartitionIndex partition, uint64_t round, const Decision& decision);
// The partition has gone from `before` passed rounds to `after`, by these commits; `gradients`
// tells how many the update of a round consists of.
void TracePassed(PartitionIndex partition, uint64_t before, uint64_t after,
                 std::span<const RoundCommit> commits, const Decision& decision);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_TRACED_ROUNDS_H_
