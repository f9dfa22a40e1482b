// capstan stop: ends a job in order, though not all of its data have been trained.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/status.h"
#include "cli/commands/command.h"
#include "cli/local/target.h"
#include "cli/status/chief_client.h"
#include "cli/status/status_view.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kStopDeadline = absl::Seconds(10);

struct StopOptions {
  std::string chief;
  std::string reason;
};

absl::Status Stop(const StopOptions& options, const Tls* identity) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string address, FindChief(options.chief));
  ChiefClient chief(address, identity);
  CAPSTAN_ASSIGN_OR_RETURN(const v1::GetStatusReply before, chief.GetStatus(kStopDeadline));
  if (IsOver(before)) {
    return absl::FailedPreconditionError(absl::StrCat(before.job(), ": is over already"));
  }
  CAPSTAN_RETURN_IF_ERROR(chief.StopJob(options.reason, kStopDeadline));
  // A job that had not begun has failed by that, and nothing of it is saved.
  const absl::StatusOr<v1::GetStatusReply> now = chief.GetStatus(kStopDeadline);
  if (now.ok() && now->state() == v1::JOB_STATE_FAILED) {
    PrintLine(absl::StrCat(now->job(), ": ", now->reason()));
    return absl::OkStatus();
  }
  PrintLine(absl::StrCat(before.job(), ": ends in order: what is under way is finished, the model ",
                         "is evaluated and saved; `capstan status` tells how far it is"));
  return absl::OkStatus();
}

}  // namespace

void AddStop(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<StopOptions>();
  CLI::App* stop = app.add_subcommand("stop", "End a job in order before its data are all trained");
  stop->add_option("--chief", options->chief,
                   "The job's chief; default: $CAPSTAN_CHIEF, or the last run of this folder")
      ->type_name("HOST:PORT");
  stop->add_option("--reason", options->reason, "Why, for the job's status and its log")
      ->type_name("TEXT");
  stop->footer(
      "Example:\n  capstan stop --chief ctr-chief:7000 --reason 'good enough'\n\n"
      "The model as trained so far is evaluated and saved, and the job is completed. A job that\n"
      "has not begun to train fails. Started again with more epochs, it goes on from there.");
  stop->callback([options, &invocation] {
    invocation.run = [options, &invocation] {
      return ReportEnd(Stop(*options, invocation.identity));
    };
  });
}

}  // namespace capstan::cli
