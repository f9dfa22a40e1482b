// The parts of the live screen that say who does what. Pure functions.
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

// Titles, at most `rows` workers, and a line that sums up when there are more; then those in
// trouble come first.
std::vector<std::string> WorkerTable(const v1::GetStatusReply& status, int rows,
                                     const Paint& paint);
std::vector<std::string> ShardTable(const v1::GetStatusReply& status, int rows, const Paint& paint);

// "3 active, 1 lost" of workers or shards.
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
