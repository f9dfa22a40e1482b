#include "cli/last_words.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/format.h"
#include "cli/status_view.h"

namespace capstan::cli {

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
  lines.push_back("");
  if (const v1::Evaluation* last = LastEvaluation(status); last != nullptr) {
    lines.push_back(absl::StrCat("  held out  ", RenderMetrics(*last)));
  }
  const auto say = [&lines](const std::string& what, const std::string& where) {
    if (!where.empty()) lines.push_back(absl::StrCat("  ", what, Printable(where)));
  };
  say("model     ", status.model_uri());
  say("curve     ", status.curve_uri());
  lines.insert(lines.end(), {"", "try next"});
  if (!status.model_uri().empty()) {
    lines.push_back(absl::StrCat("  capstan predict ", Printable(status.model_uri()),
                                 "    # a score for each held-out record"));
  }
  // A finished job is not trained again unless it is asked for.
  const std::string_view fresh = status.model_uri().empty() ? "" : " --fresh";
  const auto suggest = [&](int workers, const std::string& more) {
    lines.push_back(absl::StrCat("  capstan train ", Printable(options.job_file), " --shards ",
                                 options.shards, " --workers ", workers, std::string(fresh), more));
  };
  suggest(options.workers + 1, "    # one worker more");
  suggest(options.workers,
          absl::StrCat(" --set train.epochs=", options.epochs + 1, "    # one epoch more"));
  return lines;
}

}  // namespace capstan::cli
