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

bool IsTroubled(const v1::ShardStatus& shard) { return shard.state() != shard_state::kServing; }

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

// Returns at most `rows` members, as the chief lists them; if there are more, those in trouble come
// first.
template <typename Members>
std::vector<const typename Members::value_type*> Listed(const Members& members, int rows) {
  std::vector<const typename Members::value_type*> listed;
  for (const auto& member : members) listed.push_back(&member);
  if (members.size() <= rows) return listed;
  std::stable_sort(listed.begin(), listed.end(),
                   [](auto* a, auto* b) { return IsTroubled(*a) > IsTroubled(*b); });
  listed.resize(static_cast<size_t>(rows));
  return listed;
}

// Sums up all members, below a table that has too few rows for them.
template <typename Members>
std::string TheRest(const Members& members, int rows) {
  return absl::StrCat("and ", members.size() - rows, " more; together ", CountStates(members));
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
  for (const v1::WorkerStatus* worker : Listed(status.workers(), rows)) {
    table.AddRow({Printable(worker->name()), StateCell(worker->state(), paint),
                  Short(worker->examples_per_second()), StepTime(worker->step_seconds()),
                  absl::StrCat(worker->lag()), LongestPhase(worker->report()),
                  RemarkOn(*worker, paint)});
  }
  std::vector<std::string> lines = table.Lines();
  lines[0] = paint.Dim(lines[0]);
  if (status.workers_size() > rows) lines.push_back(paint.Dim(TheRest(status.workers(), rows)));
  return lines;
}

std::vector<std::string> ShardTable(const v1::GetStatusReply& status, int rows,
                                    const Paint& paint) {
  TextTable table(
      {"shard", "state", ">pushes/s", ">pulls/s", ">rows", ">memory", ">dropped", ">refused"});
  for (const v1::ShardStatus* shard : Listed(status.shards(), rows)) {
    const v1::ShardReport& report = shard->report();
    table.AddRow({absl::StrCat("ps-", shard->index()), StateCell(shard->state(), paint),
                  Short(shard->pushes_per_second()), Short(shard->pulls_per_second()),
                  Grouped(report.rows()), Bytes(static_cast<double>(report.parameter_bytes())),
                  Grouped(report.gradients_dropped()), Grouped(report.gradients_refused())});
  }
  std::vector<std::string> lines = table.Lines();
  lines[0] = paint.Dim(lines[0]);
  if (status.shards_size() > rows) lines.push_back(paint.Dim(TheRest(status.shards(), rows)));
  return lines;
}

}  // namespace capstan::cli
