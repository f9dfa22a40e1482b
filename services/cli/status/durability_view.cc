#include "cli/status/durability_view.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/status/status_tables.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

constexpr double kMebibyte = 1 << 20;

std::string Checkpoint(const v1::GetStatusReply& status) {
  const v1::CheckpointStatus& checkpoint = status.checkpoint();
  const char* under_way = NoShardIsThere(status) ? " waits for the shards" : " is being taken";
  if (checkpoint.uri().empty())
    return checkpoint.running() ? absl::StrCat("the first", under_way) : "none yet";
  std::string line = absl::StrCat("step ", Grouped(checkpoint.step()), "  ",
                                  ShortSeconds(checkpoint.age_seconds()), " ago  ",
                                  absl::StrFormat("%.1f", checkpoint.bytes() / kMebibyte), " MiB");
  if (checkpoint.delta()) absl::StrAppend(&line, "  delta");
  if (checkpoint.running()) absl::StrAppend(&line, "  another", under_way);
  // An earlier chief does not tell the latter.
  if (checkpoint.complete_seconds() > 0 &&
      checkpoint.complete_seconds() < checkpoint.age_seconds()) {
    absl::StrAppend(&line, "  held all there was ", ShortSeconds(checkpoint.complete_seconds()),
                    " ago");
  }
  return line;
}

// Returns the last part of a checkpoint's path, which is its name.
std::string NameOf(const std::string& checkpoint) {
  return Printable(checkpoint.substr(checkpoint.find_last_of('/') + 1));
}

// "1,200 updates of rows, 30 rows, 25 % of the hot rows"; hot rows only if there were any.
std::string LossOf(const v1::TableLoss& table) {
  const std::string text =
      absl::StrCat(Grouped(table.updates()), " updates of rows, ", Grouped(table.rows()), " rows");
  if (table.hot_rows_held() == 0) return text;
  return absl::StrFormat("%s, %.0f %% of the hot rows", text,
                         100.0 * table.hot_rows() / table.hot_rows_held());
}

// "8 of 8 partitions are on two shards; 1 shard has been replaced by its backups, 3 partitions".
std::string Replicas(const v1::ReplicaStatus& replicas) {
  std::string line = absl::StrCat(Grouped(replicas.paired()), " of ",
                                  Grouped(uint64_t{replicas.paired()} + replicas.unpaired()),
                                  " partitions are on two shards");
  if (replicas.promotions() > 0) {
    absl::StrAppend(&line, "; ", Grouped(replicas.promotions()),
                    replicas.promotions() == 1 ? " shard has" : " shards have",
                    " been replaced by backups (", Grouped(replicas.promoted()), " partitions)");
  }
  return line;
}

void Add(const v1::TableLoss& loss, v1::TableLoss& sum) {
  sum.set_updates(sum.updates() + loss.updates());
  sum.set_rows(sum.rows() + loss.rows());
  sum.set_hot_rows(sum.hot_rows() + loss.hot_rows());
  sum.set_hot_rows_held(sum.hot_rows_held() + loss.hot_rows_held());
}

void AddRecoveries(const v1::GetStatusReply& status, std::vector<std::string>& lines) {
  if (status.losses().empty()) return;
  uint64_t examples = 0;
  for (const v1::RecoveryLoss& loss : status.losses()) examples += loss.examples();
  const v1::RecoveryLoss& last = *status.losses().rbegin();
  lines.push_back(absl::StrCat("recovered  ", Times(status.losses_size()), "; ", Grouped(examples),
                               " examples trained again"));
  lines.push_back(absl::StrCat("           last in ", ShortSeconds(last.seconds()), ": ",
                               Printable(last.cause())));
  if (last.recovery() == v1::RECOVERY_PARTIAL) return;
  for (const v1::TableLoss& table : last.tables()) {
    lines.push_back(absl::StrCat("           ", Printable(table.table()), ": ", LossOf(table)));
  }
}

// Adds what recoveries with recovery: partial have lost.
void AddLostForGood(const v1::GetStatusReply& status, std::vector<std::string>& lines) {
  // By shard; the last report of a shard counts all that it lacks.
  std::map<uint32_t, uint64_t> batches;
  std::map<std::string, v1::TableLoss> tables;
  for (const v1::RecoveryLoss& loss : status.losses()) {
    if (loss.recovery() != v1::RECOVERY_PARTIAL) continue;
    batches[loss.shard()] = loss.batches();
    for (const v1::TableLoss& table : loss.tables()) {
      Add(table, tables[table.table()]);
    }
  }
  auto add = [&lines, first = true](const std::string& line) mutable {
    lines.push_back(absl::StrCat(first ? "lost       " : "           ", line));
    first = false;
  };
  for (const auto& [shard, count] : batches) {
    add(absl::StrCat("ps-", shard, ": at most ", Grouped(count),
                     " gradients, one a batch and partition"));
  }
  for (const auto& [table, of] : tables) {
    add(absl::StrCat(Printable(table), ": ", LossOf(of)));
  }
}

// Adds the settings of the job file that the running job does not follow. The first line says what
// will become of them.
void AddJobChange(const std::string& change, const Paint& paint, std::vector<std::string>& lines) {
  constexpr size_t kMostShown = 5;
  const std::vector<std::string> parts = absl::StrSplit(change, '\n', absl::SkipEmpty());
  for (size_t i = 0; i < std::min(parts.size(), kMostShown); ++i) {
    lines.push_back(
        paint.Warn(absl::StrCat(i == 0 ? "job file   " : "           ", Printable(parts[i]))));
  }
  if (parts.size() <= kMostShown) return;
  lines.push_back(paint.Warn(
      absl::StrCat("           and ", parts.size() - kMostShown, " more, in the chief's log")));
}

}  // namespace

std::vector<std::string> DurabilityLines(const v1::GetStatusReply& status, const Paint& paint) {
  std::vector<std::string> lines;
  const v1::CheckpointStatus& checkpoint = status.checkpoint();
  if (!checkpoint.uri().empty() || checkpoint.running()) {
    lines.push_back(absl::StrCat("checkpoint ", Checkpoint(status)));
  }
  if (!checkpoint.last_error().empty()) {
    lines.push_back(paint.Warn(absl::StrCat("           ", checkpoint.failures(), " failed, last: ",
                                            Printable(checkpoint.last_error()))));
  }
  if (!status.resumed_from().empty()) {
    lines.push_back(absl::StrCat("went on    from checkpoint ", NameOf(status.resumed_from())));
  }
  if (const v1::ReplicaStatus& replicas = status.replicas(); replicas.wanted() > 0) {
    const std::string line = absl::StrCat("replicas   ", Replicas(replicas));
    lines.push_back(replicas.unpaired() > 0 ? paint.Warn(line) : line);
  }
  std::vector<std::string> losses;
  AddRecoveries(status, losses);
  AddLostForGood(status, losses);
  for (const std::string& line : losses) lines.push_back(paint.Warn(line));
  if (!status.waiting_for().empty()) {
    lines.push_back(paint.Warn(absl::StrCat("waits for  ", Printable(status.waiting_for()))));
  }
  AddJobChange(status.job_change(), paint, lines);
  return lines;
}

}  // namespace capstan::cli
