#include "cli/status/status_view.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "capstan/base/member_states.h"
#include "capstan/base/metric_name.h"
#include "capstan/consistency/staleness.h"
#include "capstan/model/metrics.h"
#include "cli/status/durability_view.h"
#include "cli/status/moves_view.h"
#include "cli/status/news.h"
#include "cli/status/status_tables.h"
#include "cli/terminal/format.h"
#include "cli/terminal/paint.h"

namespace capstan::cli {
namespace {

constexpr size_t kLabelCells = 11;
constexpr int kSparklineCells = 24;
constexpr int kEvaluationCells = 12;
constexpr int kMetricsWhileRunning = 2;
// At least so many workers and shards are shown, however low the terminal is.
constexpr int kMinRows = 3;
constexpr int kWorkersInLine = 8;  // If there are more workers, they are summed up.

std::string Percent(double fraction) { return absl::StrFormat("%.1f %%", fraction * 100); }
std::string Rate(double rate) { return absl::StrCat(Short(rate), "/s"); }

std::string Eta(const v1::GetStatusReply& status) {
  return status.eta_seconds() < 0 ? "not known yet" : ShortSeconds(status.eta_seconds());
}

std::string Examples(const v1::GetStatusReply& status) {
  const std::string done = Grouped(status.examples());
  if (status.examples_expected() == 0) return done;
  return absl::StrCat(done, " of ", Grouped(status.examples_expected()));
}

// Returns the loss as text. It is 0 while the chief has had no report of a batch, as after a new
// chief has started.
std::string LossText(const v1::GetStatusReply& status) {
  return status.loss() == 0 ? "not known yet" : Decimals(status.loss(), 4);
}

// Adds a text behind its label, in as many lines as it takes; none for an empty text.
std::vector<std::string> Labelled(absl::string_view label, const std::string& text, int width) {
  std::vector<std::string> lines = Wrapped(text, width);
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string start(i == 0 ? label : "");
    start.resize(kLabelCells, ' ');
    lines[i].insert(0, start);
  }
  return lines;
}

// Where staleness is counted by row: how often a row itself was updated meanwhile.
std::string RowStaleness(const v1::GetStatusReply& status) {
  std::array<uint64_t, kStalenessBuckets> counts{};
  uint64_t max = 0;
  bool any = false;
  for (const v1::ShardStatus& shard : status.shards()) {
    const v1::ShardReport& report = shard.report();
    max = std::max(max, report.max_row_staleness());
    any = any || report.row_staleness_counts_size() > 0;
    const size_t buckets =
        std::min(static_cast<size_t>(report.row_staleness_counts_size()), kStalenessBuckets);
    for (size_t i = 0; i < buckets; ++i) {
      counts[i] += report.row_staleness_counts(static_cast<int>(i));
    }
  }
  return any ? absl::StrCat("; of rows median ", StalenessMedian(counts), ", max ", max) : "";
}

std::string Staleness(const v1::GetStatusReply& status) {
  return absl::StrCat("median ", status.staleness_median(), ", max ", status.staleness_max(),
                      RowStaleness(status));
}

// Returns the state as people are to read it: nothing runs where no shard is there.
std::string StateOf(const v1::GetStatusReply& status) {
  const bool runs = status.state() == v1::JOB_STATE_RUNNING;
  return runs && NoShardIsThere(status) ? "waiting" : StateName(status.state());
}

std::string Title(const v1::GetStatusReply& status, const Paint& paint) {
  const std::string name = status.job().empty() ? "the job" : Printable(status.job());
  std::string title = absl::StrCat(paint.Bold(name), "  ", StateOf(status));
  if (status.state() == v1::JOB_STATE_RUNNING) {
    absl::StrAppend(&title, "  epoch ", status.data_epoch() + 1);  // People count from 1.
  }
  return absl::StrCat(title, "  ", ShortSeconds(status.elapsed_seconds()));
}

std::string HeldOut(const v1::GetStatusReply& status, bool unicode) {
  const v1::Evaluation& last = *LastEvaluation(status);
  std::string line = RenderMetrics(last, kMetricsWhileRunning);
  std::vector<double> curve;
  for (const v1::Evaluation& evaluation : status.evaluations()) {
    const auto auc = evaluation.metrics().find("auc");
    if (auc != evaluation.metrics().end()) curve.push_back(auc->second);
  }
  if (curve.size() > 1) {
    absl::StrAppend(&line, "  ", Sparkline(curve, kEvaluationCells, unicode));
  }
  if (last.final()) return absl::StrCat(line, "  at the end");
  absl::StrAppend(&line, "  after ", Grouped(last.examples()));
  return last.at_round_boundary() ? line : line + ", live";
}

// Adds the facts of the whole job, above the tables.
std::vector<std::string> Facts(const v1::GetStatusReply& status, absl::Span<const double> losses,
                               const ViewOptions& options) {
  const Paint paint(options.color);
  const int bar = std::clamp(options.width - 34, 10, 50);
  const int text_width = std::max(20, options.width - static_cast<int>(kLabelCells));
  std::vector<std::string> lines = {
      Title(status, paint),
      absl::StrCat(Bar(status.progress(), bar, options.unicode), "  ", Percent(status.progress()),
                   "  ETA ", Eta(status)),
      "",
      absl::StrCat("examples   ", Examples(status), "  ", Rate(status.examples_per_second())),
      absl::StrCat("step       ", Grouped(status.global_step())),
      absl::StrCat("loss       ", LossText(status), "  ",
                   Sparkline(losses, kSparklineCells, options.unicode))};
  if (LastEvaluation(status) != nullptr) {
    lines.push_back(absl::StrCat("held out   ", HeldOut(status, options.unicode)));
    for (const std::string& set : FurtherScopes(*LastEvaluation(status))) {
      lines.push_back(
          absl::StrCat("  ", Printable(set), "  ",
                       RenderMetrics(*LastEvaluation(status), kMetricsWhileRunning, set)));
    }
  }
  if (!status.shards().empty()) {
    lines.push_back(absl::StrCat("staleness  ", Staleness(status)));
  }
  for (std::string& line : DurabilityLines(status, paint)) lines.push_back(std::move(line));
  if (const std::string moves = MovesUnderWay(status.moves()); !moves.empty()) {
    lines.push_back(absl::StrCat("moves      ", moves));
  }
  const auto say = [&](absl::string_view label, const std::string& text, bool bad = false) {
    for (std::string& line : Labelled(label, text, text_width)) {
      lines.push_back(bad ? paint.Bad(line) : paint.Warn(line));
    }
  };
  say("bad data", BadRecords(status));
  for (const std::string& warning : status.warnings()) say("warning", Printable(warning));
  say("because", Printable(status.reason()), /*bad=*/true);
  return lines;
}

void Append(std::vector<std::string>& lines, std::vector<std::string> more) {
  lines.push_back("");
  std::move(more.begin(), more.end(), std::back_inserter(lines));
}

std::string WorkersInLine(const v1::GetStatusReply& status) {
  if (status.workers_size() > kWorkersInLine) {
    std::string line = absl::StrCat("workers ", CountStates(status.workers()));
    for (const v1::WorkerStatus& worker : status.workers()) {
      if (worker.straggler()) absl::StrAppend(&line, ", straggler ", Printable(worker.name()));
    }
    return line;
  }
  return absl::StrJoin(status.workers(), ", ", [](std::string* out, const auto& worker) {
    absl::StrAppend(out, Printable(worker.name()), " ");
    if (worker.state() == worker_state::kSilent) return absl::StrAppend(out, NothingHeard(worker));
    absl::StrAppend(out, Rate(worker.examples_per_second()));
    if (worker.state() != worker_state::kActive)
      absl::StrAppend(out, " ", Printable(worker.state()));
    if (worker.straggler()) absl::StrAppend(out, " straggler");
  });
}

std::string ShardsInLine(const v1::GetStatusReply& status) {
  return absl::StrJoin(status.shards(), ", ", [](std::string* out, const auto& shard) {
    absl::StrAppend(out, "ps-", shard.index(), " ", Short(shard.pushes_per_second()), " pushes/s");
    if (shard.state() != shard_state::kServing) absl::StrAppend(out, " ", Printable(shard.state()));
  });
}

}  // namespace

std::vector<std::string> RenderScreen(const v1::GetStatusReply& status,
                                      absl::Span<const double> losses, const ViewOptions& options) {
  const Paint paint(options.color);
  std::vector<std::string> lines = Facts(status, losses, options);
  // The lines left for the rows of both tables, each of which has a gap, its titles, and perhaps a
  // line for the rows not shown.
  const int room = options.height == 0 ? status.workers_size() + status.shards_size()
                                       : options.height - static_cast<int>(lines.size()) - 2 * 3;
  const int shard_rows = std::max(kMinRows, std::min(status.shards_size(), room / 2));
  const int worker_rows = std::max(kMinRows, room - std::min(shard_rows, status.shards_size()));
  if (status.workers_size() > 0) Append(lines, WorkerTable(status, worker_rows, paint));
  if (status.shards_size() > 0) Append(lines, ShardTable(status, shard_rows, paint));
  if (options.height > 0 && static_cast<int>(lines.size()) > options.height) {
    lines.resize(options.height);
  }
  for (std::string& line : lines) line = Clip(line, options.width);
  return lines;
}

std::string RenderLine(const v1::GetStatusReply& status) {
  std::vector<std::string> parts = {
      absl::StrCat(ShortSeconds(status.elapsed_seconds()), " ", StateOf(status), " ",
                   Percent(status.progress()), ", ETA ", Eta(status)),
      absl::StrCat(Examples(status), " examples, ", Rate(status.examples_per_second())),
      absl::StrCat("loss ", LossText(status))};
  if (LastEvaluation(status) != nullptr) {
    parts.push_back(RenderMetrics(*LastEvaluation(status), kMetricsWhileRunning));
  }
  parts.push_back(absl::StrCat("staleness ", Staleness(status)));
  if (status.workers_size() > 0) parts.push_back(WorkersInLine(status));
  if (status.shards_size() > 0) parts.push_back(ShardsInLine(status));
  if (const std::string moves = MovesUnderWay(status.moves()); !moves.empty()) {
    parts.push_back(moves);
  }
  if (status.losses_size() > 0) {
    parts.push_back(absl::StrCat("recovered ", Times(status.losses_size())));
  }
  if (const std::string lost = GradientLosses(status); !lost.empty()) parts.push_back(lost);
  if (status.bad_records() > 0) {
    parts.push_back(absl::StrCat(Grouped(status.bad_records()), " bad records"));
  }
  if (!status.waiting_for().empty()) {
    parts.push_back(absl::StrCat("waits for ", Printable(status.waiting_for())));
  }
  if (const v1::CheckpointStatus& checkpoint = status.checkpoint();
      !checkpoint.last_error().empty() && status.waiting_for().empty()) {
    parts.push_back(absl::StrCat("not saved: ", Printable(checkpoint.last_error())));
  }
  if (!status.job_change().empty()) parts.push_back("the job file has changed; see status");
  if (!status.reason().empty()) parts.push_back(Printable(status.reason()));
  return absl::StrJoin(parts, " | ");
}

std::vector<std::string> FurtherScopes(const v1::Evaluation& evaluation) {
  std::vector<std::string> names;
  for (const auto& [scope, metrics] : MetricsByScope(evaluation)) {
    if (!scope.empty()) names.emplace_back(scope);
  }
  return names;
}

std::string RenderMetrics(const v1::Evaluation& evaluation, int at_most, std::string_view scope) {
  const std::pair<const char*, const char*> shown[] = {{"auc", "AUC"},
                                                       {"group_auc", "group AUC"},
                                                       {"rmse", "RMSE"},
                                                       {"mae", "MAE"},
                                                       {"logloss", "logloss"},
                                                       {"accuracy", "accuracy"},
                                                       {"calibration", "calibration"}};
  std::vector<std::string> parts;
  for (const auto& [key, name] : shown) {
    const auto metric = evaluation.metrics().find(NameMetric({scope, key}));
    if (metric == evaluation.metrics().end() || static_cast<int>(parts.size()) == at_most) continue;
    parts.push_back(absl::StrCat(name, " ", Decimals(metric->second, 4)));
  }
  return absl::StrJoin(parts, "  ");
}

std::string StateName(v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_PENDING:
      return "pending";
    case v1::JOB_STATE_RESTORING:
      return "restoring";
    case v1::JOB_STATE_RUNNING:
      return "running";
    case v1::JOB_STATE_CHECKPOINTING:
      return "checkpointing";
    case v1::JOB_STATE_COMPLETED:
      return "completed";
    case v1::JOB_STATE_FAILED:
      return "failed";
    default:
      return "starting";
  }
}

bool IsOver(const v1::GetStatusReply& status) {
  return status.state() == v1::JOB_STATE_COMPLETED || status.state() == v1::JOB_STATE_FAILED;
}

const v1::Evaluation* LastEvaluation(const v1::GetStatusReply& status) {
  return status.evaluations().empty() ? nullptr : &*status.evaluations().rbegin();
}

}  // namespace capstan::cli
