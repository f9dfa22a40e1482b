// Shows as text how much each shard has, and which partitions move where. Pure functions.
#ifndef CAPSTAN_CLI_STATUS_MOVES_VIEW_H_
#define CAPSTAN_CLI_STATUS_MOVES_VIEW_H_

#include <string>
#include <vector>

#include "capstan/v1/chief.pb.h"

namespace capstan::cli {

// "3 partitions, 12.0 MiB of 40.0 MiB, because shard 2 has joined"; empty: no partition moves.
std::string MovesUnderWay(const v1::MoveStatus& moves);
// "40 partitions so far; the last switch took 12 ms"; empty: nothing has moved.
std::string MovesSoFar(const v1::MoveStatus& moves);

// A table of the shards: state, partitions, bytes, load and its ratio to the mean; with replicas
// also what each backs up.
std::vector<std::string> ShardShares(const v1::GetStatusReply& status);

// A line for each move, and how the skews change.
std::vector<std::string> PlanLines(const v1::RebalanceReply& plan);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_MOVES_VIEW_H_
