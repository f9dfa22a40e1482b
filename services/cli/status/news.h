// What has happened in a job between two looks at it, for those who read lines. Pure functions.
#ifndef CAPSTAN_CLI_STATUS_NEWS_H_
#define CAPSTAN_CLI_STATUS_NEWS_H_

#include <string>
#include <vector>

#include "capstan/v1/chief.pb.h"

namespace capstan::cli {

// A line each: the checkpoint that it goes on from, a recovery and what it cost, that backups have
// taken over for a shard, a warning, the first bad record, that gradients are dropped or refused.
std::vector<std::string> News(const v1::GetStatusReply& before, const v1::GetStatusReply& now);

// What a person calls a recovery: not that a job was started again where it had been saved.
std::vector<v1::RecoveryLoss> Recoveries(const v1::GetStatusReply& status);

// "dropped 4 gradients as too stale, refused 2"; empty: neither, in all shards together.
std::string GradientLosses(const v1::GetStatusReply& status);

// "7 bad records, the first: a.csv:12: 39 columns, expected 40"; empty: there are none.
std::string BadRecords(const v1::GetStatusReply& status);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_NEWS_H_
