#include "cli/status/moves_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/terminal/format.h"
#include "cli/terminal/text_table.h"

namespace capstan::cli {
namespace {

std::string Partitions(uint64_t count) {
  return absl::StrCat(Grouped(count), count == 1 ? " partition" : " partitions");
}

std::string Shard(uint32_t index) { return absl::StrCat("ps-", index); }

}  // namespace

std::string MovesUnderWay(const v1::MoveStatus& moves) {
  if (moves.under_way() == 0) return "";
  return absl::StrCat(Partitions(moves.under_way()), " on the way, ",
                      Bytes(static_cast<double>(moves.bytes())), " of ",
                      Bytes(static_cast<double>(moves.bytes_expected())), ", because ",
                      Printable(moves.why()));
}

std::string MovesSoFar(const v1::MoveStatus& moves) {
  if (moves.moved() == 0 && moves.paired() == 0) return "";
  std::string line = absl::StrCat(Partitions(moves.moved()), " moved, ");
  if (moves.paired() > 0) {
    absl::StrAppend(&line, Grouped(moves.paired()), " given a backup, ");
  }
  absl::StrAppend(&line, "the last ones stood still for ", StepTime(moves.seconds()));
  if (moves.cancelled() > 0) absl::StrAppend(&line, "; ", Grouped(moves.cancelled()), " cancelled");
  return line;
}

std::vector<std::string> ShardShares(const v1::GetStatusReply& status) {
  double load = 0;
  for (const v1::ShardStatus& shard : status.shards()) load += shard.load();
  const double mean = load / std::max(1, status.shards_size());
  const bool replicas = status.replicas().wanted() > 0;
  const bool zones = std::any_of(status.shards().begin(), status.shards().end(),
                                 [](const auto& shard) { return !shard.zone().empty(); });
  std::vector<std::string> titles = {"shard",   "state",   ">partitions",
                                     ">memory", ">rows/s", ">of mean"};
  if (replicas) titles.insert(titles.end(), {">backups", ">their memory"});
  if (zones) titles.push_back("zone");
  TextTable table(titles);
  for (const v1::ShardStatus& shard : status.shards()) {
    std::vector<std::string> row = {
        Shard(shard.index()),        Printable(shard.state()),
        Grouped(shard.partitions()), Bytes(static_cast<double>(shard.report().parameter_bytes())),
        Short(shard.load()),         mean > 0 ? absl::StrFormat("%.2f", shard.load() / mean) : "-"};
    if (replicas) {
      row.push_back(Grouped(shard.backups()));
      row.push_back(Bytes(static_cast<double>(shard.report().backup_bytes())));
    }
    if (zones) row.push_back(Printable(shard.zone()));
    table.AddRow(std::move(row));
  }
  return table.Lines();
}

std::vector<std::string> PlanLines(const v1::RebalanceReply& plan) {
  if (plan.moves().empty()) return {"the shards are as even as whole partitions can make them"};
  TextTable table({">partition", "from", "to", ">memory", ">rows/s"});
  for (const v1::PlannedMove& move : plan.moves()) {
    table.AddRow({Grouped(move.partition()), Shard(move.from()), Shard(move.to()),
                  Bytes(static_cast<double>(move.bytes())), Short(move.load())});
  }
  std::vector<std::string> lines = table.Lines();
  lines.push_back(
      absl::StrFormat("the busiest shard against the mean: load %.2f to %.2f, memory "
                      "%.2f to %.2f",
                      plan.load_skew_before(), plan.load_skew_after(), plan.byte_skew_before(),
                      plan.byte_skew_after()));
  return lines;
}

}  // namespace capstan::cli
