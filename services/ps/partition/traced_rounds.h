// What is written into the trace (capstan/base/trace) about synchronous rounds. By the coordinator:
// that it begins; for which lane's runner it has opened a round; whose gradient it has counted;
// which lane has ended; and with which lanes it has closed a round. By a partition: that it answers
// a pull for a round; that it has staged, or already added, the gradient of a lane; and that it has
// passed a round.
//
// A runner of a lane is identified by its generation: `term` and `count`. Several are written as in
// "0:1.4 2:1.7": lane, term, count.
#ifndef CAPSTAN_PS_PARTITION_TRACED_ROUNDS_H_
#define CAPSTAN_PS_PARTITION_TRACED_ROUNDS_H_

#include <cstdint>
#include <span>

#include "capstan/base/ids.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/ps.pb.h"
#include "ps/machines/coordinator_machine.h"
#include "ps/machines/decision.h"
#include "ps/partition/push_message.h"

namespace capstan::ps {

// These do nothing unless the process writes a trace, and are called under the lock that guards
// what they write about.

// ---- by the coordinator ----

// The coordinator of `timeline` begins after `closed` rounds, with the lanes of `policy`.
void TraceCoordinates(uint64_t timeline, const v1::UpdatePolicy& policy, uint64_t closed);
// The coordinator gave `answer` to `report`.
void TraceReported(const v1::ReportLaneRequest& report, v1::ReportLaneReply::Answer answer);
// What a call of the coordinator has done: closed the round `before`, if that is not the open one
// any more, and opened a round to the lanes that `answers` names.
void TraceOpenRound(uint64_t before, const RoundCommit& last, const CoordinatorAnswers& answers);

// ---- by a partition ----

// The partition answers a pull; it has passed `passed` rounds.
void TracePulled(PartitionIndex partition, const v1::PullRequest& pull, uint64_t passed);
// A push has had this outcome; written only if the push has staged a gradient.
void TraceStaged(const PushShare& share, const v1::PartitionOutcome& outcome);
// Gradients of the open round are added ahead, in this order.
void TraceAdded(PartitionIndex partition, uint64_t round, const Decision& decision);
// The partition has passed the rounds after `before` up to `after`, by these commits. The field
// `gradients` tells how many gradients the update of a round consists of.
void TracePassed(PartitionIndex partition, uint64_t before, uint64_t after,
                 std::span<const RoundCommit> commits, const Decision& decision);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_TRACED_ROUNDS_H_
