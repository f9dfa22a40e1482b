// Says what has happened in a job between two looks at its status, line by line. Pure functions.
#ifndef CAPSTAN_CLI_STATUS_NEWS_H_
#define CAPSTAN_CLI_STATUS_NEWS_H_

#include <string>
#include <vector>

#include "capstan/v1/chief.pb.h"

namespace capstan::cli {

// Returns a line for each of these: the checkpoint that the job goes on from, a recovery and what
// it cost, backups that have taken over for a shard, a warning, the first bad record, and gradients
// that are dropped or refused.
std::vector<std::string> News(const v1::GetStatusReply& before, const v1::GetStatusReply& now);

// "dropped 4 gradients as too stale, refused 2", over all shards; empty: neither has happened.
std::string GradientLosses(const v1::GetStatusReply& status);

// "7 bad records, the first: a.csv:12: 39 columns, expected 40"; empty: there are none.
std::string BadRecords(const v1::GetStatusReply& status);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_NEWS_H_
