#include "cli/status/status_tables.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"
#include "capstan/base/member_states.h"
#include "cli/terminal/text_table.h"

namespace capstan::cli {
namespace {

// "compute 71 %": the phase that takes most of a worker's step.
std::string LongestPhase(const v1::WorkerReport& report) {
  const std::pair<double, const char*> phases[] = {{report.data_seconds(), "data"},
                                                   {report.pull_seconds(), "pull"},
                                                   {report.compute_seconds(), "compute"},
                                                   {report.push_seconds(), "push"},
                                                   {report.wait_seconds(), "wait"}};
  double sum = 0;
  for (const auto& phase : phases) sum += phase.first;
  if (!(sum > 0)) return "";
  const auto& longest = *std::max_element(std::begin(phases), std::end(phases));
  return absl::StrFormat("%s %.0f %%", longest.second, 100 * longest.first / sum);
}

bool IsTroubled(const v1::WorkerStatus& worker) {
  return worker.straggler() ||
         (worker.state() != worker_state::kActive && worker.state() != worker_state::kIdle &&
          worker.state() != worker_state::kParked);
}

std::string StateCell(const std::string& state, const Paint& paint) {
  const std::string text = Printable(state);
  if (state == worker_state::kLost || state == shard_state::kLost) return paint.Bad(text);
  if (state == worker_state::kDraining || state == shard_state::kDraining ||
      state == worker_state::kSilent) {
    return paint.Warn(text);
  }
  const bool well = state == worker_state::kActive || state == shard_state::kServing;
  return well ? paint.Good(text) : text;
}

std::string RemarkOn(const v1::WorkerStatus& worker, const Paint& paint) {
  if (worker.state() == worker_state::kSilent) return paint.Warn(NothingHeard(worker));
  return worker.straggler() ? paint.Warn("straggler") : "";
}

// Orders members in trouble first, otherwise as the chief lists them.
std::vector<const v1::WorkerStatus*> InOrderOfTrouble(const v1::GetStatusReply& status) {
  std::vector<const v1::WorkerStatus*> workers;
  for (const v1::WorkerStatus& worker : status.workers()) workers.push_back(&worker);
  std::stable_sort(workers.begin(), workers.end(),
                   [](auto* a, auto* b) { return IsTroubled(*a) > IsTroubled(*b); });
  return workers;
}

}  // namespace

std::string NothingHeard(const v1::WorkerStatus& worker) {
  return absl::StrCat("no word for ", ShortSeconds(worker.silent_seconds()));
}

bool NoShardIsThere(const v1::GetStatusReply& status) {
  return !status.shards().empty() && std::all_of(status.shards().begin(), status.shards().end(),
                                                 [](const v1::ShardStatus& shard) {
                                                   return shard.state() == shard_state::kLost;
                                                 });
}

std::vector<std::string> WorkerTable(const v1::GetStatusReply& status, int rows,
                                     const Paint& paint) {
  TextTable table({"worker", "state", ">examples/s", ">step", ">behind", "mostly", ""});
  const bool all = status.workers_size() <= rows;
  const auto workers = all ? std::vector<const v1::WorkerStatus*>() : InOrderOfTrouble(status);
  const int shown = std::min(rows, status.workers_size());
  for (int i = 0; i < shown; ++i) {
    const v1::WorkerStatus& worker = all ? status.workers(i) : *workers[i];
    table.AddRow({Printable(worker.name()), StateCell(worker.state(), paint),
                  Short(worker.examples_per_second()), StepTime(worker.step_seconds()),
                  absl::StrCat(worker.lag()), LongestPhase(worker.report()),
                  RemarkOn(worker, paint)});
  }
  std::vector<std::string> lines = table.Lines();
  lines[0] = paint.Dim(lines[0]);
  if (!all) {
    lines.push_back(paint.Dim(absl::StrCat("and ", status.workers_size() - shown,
                                           " more; together ", CountStates(status.workers()))));
  }
  return lines;
}

std::vector<std::string> ShardTable(const v1::GetStatusReply& status, int rows,
                                    const Paint& paint) {
  TextTable table(
      {"shard", "state", ">pushes/s", ">pulls/s", ">rows", ">memory", ">dropped", ">refused"});
  const int shown = std::min(rows, status.shards_size());
  for (int i = 0; i < shown; ++i) {
    const v1::ShardStatus& shard = status.shards(i);
    table.AddRow({absl::StrCat("ps-", shard.index()), StateCell(shard.state(), paint),
                  Short(shard.pushes_per_second()), Short(shard.pulls_per_second()),
                  Grouped(shard.report().rows()), Bytes(shard.report().parameter_bytes()),
                  Grouped(shard.report().gradients_dropped()),
                  Grouped(shard.report().gradients_refused())});
  }
  std::vector<std::string> lines = table.Lines();
  lines[0] = paint.Dim(lines[0]);
  if (shown < status.shards_size()) {
    lines.push_back(paint.Dim(absl::StrCat("and ", status.shards_size() - shown, " more; together ",
                                           CountStates(status.shards()))));
  }
  return lines;
}

}  // namespace capstan::cli
