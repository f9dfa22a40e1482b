// The tables of workers and shards on the live screen. Pure functions.
#ifndef CAPSTAN_CLI_STATUS_STATUS_TABLES_H_
#define CAPSTAN_CLI_STATUS_STATUS_TABLES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/v1/chief.pb.h"
#include "cli/terminal/format.h"
#include "cli/terminal/paint.h"

namespace capstan::cli {

// Titles, then at most `rows` workers or shards. If there are more, those in trouble come first,
// and a last line sums up the rest.
std::vector<std::string> WorkerTable(const v1::GetStatusReply& status, int rows,
                                     const Paint& paint);
std::vector<std::string> ShardTable(const v1::GetStatusReply& status, int rows, const Paint& paint);

// "no word for 4s", of a worker whose heartbeats do not come.
std::string NothingHeard(const v1::WorkerStatus& worker);

// Returns true if the job has shards, and all of them are lost.
bool NoShardIsThere(const v1::GetStatusReply& status);

// "3 active, 1 lost", for workers or shards.
template <typename Members>
std::string CountStates(const Members& members) {
  std::map<std::string, int> counts;
  for (const auto& member : members) ++counts[Printable(member.state())];
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second, " ", entry.first);
  });
}

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_STATUS_TABLES_H_
