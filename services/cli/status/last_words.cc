#include "cli/status/last_words.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/status/news.h"
#include "cli/status/status_view.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

std::string Word(const std::string& text) { return ShellWord(Printable(text)); }

constexpr absl::string_view kEpochs = "train.epochs=";

// Returns the options for the user's own program and settings. If `without` is not empty, settings
// that begin with it are left out.
std::string SettingsOf(const LastWordsOptions& options, absl::string_view without) {
  std::string settings;
  if (!options.worker.empty()) absl::StrAppend(&settings, " --worker ", Word(options.worker));
  for (const std::string& setting : options.overrides) {
    if (!without.empty() && absl::StartsWith(setting, without)) continue;
    absl::StrAppend(&settings, " --set ", Word(setting));
  }
  return settings;
}

// Returns a line for each recovery, loss of gradients, bad records and warning.
std::vector<std::string> WhatWasOdd(const v1::GetStatusReply& status) {
  std::vector<std::string> lines;
  if (status.losses_size() > 0) {
    uint64_t examples = 0;
    for (const v1::RecoveryLoss& loss : status.losses()) examples += loss.examples();
    lines.push_back(absl::StrCat("recovered ", Times(status.losses_size()), ", and trained ",
                                 Grouped(examples), " examples again"));
  }
  if (std::string lost = GradientLosses(status); !lost.empty()) lines.push_back(std::move(lost));
  if (std::string bad = BadRecords(status); !bad.empty()) lines.push_back(std::move(bad));
  for (const std::string& warning : status.warnings()) {
    lines.push_back(absl::StrCat("warning: ", Printable(warning)));
  }
  return lines;
}

// Returns the option by which a job that begins anew begins with what this one began with.
std::string Beginning(const LastWordsOptions& options) {
  return options.from.empty() ? "" : absl::StrCat(" --from ", Word(options.from));
}

// Returns the command that starts the same job in the same way with `workers` workers. If `without`
// is not empty, settings that begin with it are left out.
std::string CommandOf(const LastWordsOptions& options, int workers, absl::string_view without) {
  std::string command =
      absl::StrCat(Word(options.program), " train ", Word(options.job_file), " --shards ",
                   options.shards, " --workers ", workers, SettingsOf(options, without));
  if (!options.run_folder.empty()) {
    absl::StrAppend(&command, " --run-dir ", Word(options.run_folder));
  }
  if (options.keep_going) absl::StrAppend(&command, " --keep-going");
  if (options.chief_port != 0) absl::StrAppend(&command, " --chief-port ", options.chief_port);
  if (!options.tls.empty()) absl::StrAppend(&command, " --tls ", Word(options.tls));
  return command;
}

// Returns a command that uses the model. A user's own program computes scores where it has
// evaluated, and its command does for `capstan serve` as it is.
std::string UseOf(const v1::GetStatusReply& status, const LastWordsOptions& options) {
  const std::string model = Word(status.model_uri());
  if (options.worker.empty()) {
    return absl::StrCat("  ", Word(options.program), " predict ", model,
                        "    # a score for each held-out record");
  }
  return absl::StrCat("  ", Word(options.program), " serve ", model, " --program ",
                      Word(options.worker), "    # scores over HTTP");
}

}  // namespace

std::vector<std::string> StopWords(const v1::GetStatusReply& status,
                                   const absl::StatusOr<std::string>& saved,
                                   const LastWordsOptions& options) {
  const v1::CheckpointStatus& last = status.checkpoint();
  std::string stopped = absl::StrFormat("stopped at %.1f %%: %s examples", status.progress() * 100,
                                        Grouped(status.examples()));
  // Training went on while the checkpoint was written.
  if (saved.ok() && last.uri() == *saved && last.examples() != status.examples()) {
    absl::StrAppend(&stopped, ", ", Grouped(last.examples()), " of them saved");
  }
  std::vector<std::string> lines = {"", std::move(stopped), ""};
  if (saved.ok()) {
    lines.push_back(absl::StrCat("  saved     ", Printable(*saved)));
  } else if (!absl::IsFailedPrecondition(saved.status())) {
    lines.push_back(absl::StrCat("  not saved ", Printable(std::string(saved.status().message()))));
  }
  if (!saved.ok() && !last.uri().empty()) {
    lines.push_back(absl::StrCat("  kept      ", Printable(last.uri()), ", of ",
                                 Grouped(last.examples()), " examples"));
  }
  const bool kept = saved.ok() || !last.uri().empty();
  lines.push_back(absl::StrCat(kept ? "  go on     " : "  begin anew  ",
                               CommandOf(options, options.workers, ""),
                               kept ? "" : Beginning(options)));
  return lines;
}

std::vector<std::string> LastWords(const v1::GetStatusReply& status,
                                   const LastWordsOptions& options) {
  const absl::Duration elapsed = absl::Seconds(status.elapsed_seconds());
  const double rate =
      status.elapsed_seconds() > 0 ? status.examples() / status.elapsed_seconds() : 0;
  std::vector<std::string> lines = {
      "", absl::StrCat(options.worked ? "done in " : "had been done before, in ",
                       ShortDuration(elapsed), ": ", Grouped(status.examples()), " examples, ",
                       Short(rate), "/s")};
  if (!status.reason().empty()) lines.push_back(Printable(status.reason()));
  for (std::string& line : WhatWasOdd(status)) lines.push_back(std::move(line));
  lines.push_back("");
  if (const v1::Evaluation* last = LastEvaluation(status); last != nullptr) {
    lines.push_back(absl::StrCat("  held out  ", RenderMetrics(*last)));
    for (const std::string& set : FurtherScopes(*last)) {
      lines.push_back(
          absl::StrCat("  ", Printable(set), "  ", RenderMetrics(*last, kAllMetrics, set)));
    }
  }
  const auto say = [&lines](const std::string& what, const std::string& where) {
    if (!where.empty()) lines.push_back(absl::StrCat("  ", what, Printable(where)));
  };
  say("model     ", status.model_uri());
  say("curve     ", status.curve_uri());
  lines.insert(lines.end(), {"", "try next"});
  if (!status.model_uri().empty() && options.held_out) lines.push_back(UseOf(status, options));
  // A finished job is not trained again unless it is asked for; for more epochs it goes on.
  const std::string fresh =
      status.model_uri().empty() ? "" : absl::StrCat(Beginning(options), " --fresh");
  lines.push_back(absl::StrCat("  ", CommandOf(options, options.workers + 1, ""), fresh,
                               "    # one worker more"));
  lines.push_back(absl::StrCat("  ", CommandOf(options, options.workers, kEpochs), " --set ",
                               kEpochs, options.epochs + 1, "    # one epoch more"));
  return lines;
}

}  // namespace capstan::cli
