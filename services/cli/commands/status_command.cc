#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "cli/commands/command.h"
#include "cli/local/target.h"
#include "cli/model/stored_job.h"
#include "cli/status/answer_lines.h"
#include "cli/status/chief_client.h"
#include "cli/status/cluster_api.h"
#include "cli/status/keys.h"
#include "cli/status/kubernetes_chief.h"
#include "cli/status/progress_display.h"
#include "cli/status/status_json.h"
#include "cli/status/status_view.h"
#include "cli/status/terminal.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kFramePeriod = absl::Milliseconds(500);
constexpr absl::Duration kStatusDeadline = absl::Seconds(2);
constexpr absl::Duration kComplainEvery = absl::Seconds(3);
constexpr absl::Duration kClusterPatience = absl::Minutes(1);
constexpr absl::Duration kClusterPause = absl::Seconds(2);
constexpr int kFileWidth = 1 << 14;  // Lines for a file or a pipe are not cut.

struct StatusOptions {
  // The folder of the job. Its chief is asked; if no chief trains the job, the stored status is
  // shown.
  std::string folder;
  std::string chief;
  KubernetesJob kubernetes;  // If its release is set, the job is asked on Kubernetes.
  double wait_seconds = 10;
  bool watch = false;
  ExitCode when_left = kInterrupted;  // The exit code if the user leaves while the job goes on.
  // The workers' Deployment, which is scaled to 0 after the job; empty: none.
  std::string then_scale_to_zero;
  double refusal_patience_seconds = 0;
  bool json = false;
  bool answer_lines = false;
};

// Asks repeatedly while nobody answers, at most for `limit`, and says so every few seconds.
absl::StatusOr<v1::GetStatusReply> AskPatiently(StatusSource& chief, absl::Duration limit,
                                                const Shutdown& shutdown) {
  const absl::Time start = absl::Now();
  absl::Time complain = start + kComplainEvery;
  while (true) {
    absl::StatusOr<v1::GetStatusReply> status = chief.GetStatus(kStatusDeadline);
    const absl::Time now = absl::Now();
    if (status.ok() || absl::IsNotFound(status.status()) || now - start >= limit) return status;
    if (now >= complain) {
      PrintError(absl::StrCat(status.status().message(), "; waiting, ",
                              ShortDuration(start + limit - now), " more"));
      complain += kComplainEvery;
    }
    if (shutdown.WaitFor(kFramePeriod)) return absl::CancelledError("interrupted");
  }
}

// Scales a Deployment to 0, from within a pod. Tries again while the API server is away.
absl::Status ScaleToZero(const std::string& deployment, const Shutdown& shutdown) {
  const absl::Time deadline = absl::Now() + kClusterPatience;
  while (true) {
    CAPSTAN_ASSIGN_OR_RETURN(const ClusterAccess access, FindClusterAccess());
    const std::unique_ptr<Http> http = NewCurlHttp({.ca_file = access.ca_file});
    const absl::Status scaled = ScaleDeployment(*http, access, deployment, 0);
    const bool again = absl::IsUnavailable(scaled) || absl::IsDeadlineExceeded(scaled);
    if (!again || absl::Now() >= deadline) return scaled;
    if (shutdown.WaitFor(kClusterPause)) return absl::CancelledError("interrupted");
  }
}

// Returns the exit code of `capstan status --watch` when the job has ended, after scaling
// `deployment` to 0. If the job failed, the code says so, even if the scaling fails, too.
ExitCode AfterTheEnd(const v1::GetStatusReply& status, const std::string& deployment,
                     const Shutdown& shutdown) {
  const ExitCode ending = status.state() == v1::JOB_STATE_COMPLETED ? kDone : kFailed;
  if (deployment.empty()) return ending;
  const absl::Status scaled = ScaleToZero(deployment, shutdown);
  if (scaled.ok()) {
    PrintLine(absl::StrCat("scaled ", deployment, " to 0"));
    return ending;
  }
  PrintError(absl::StrCat("the workers stay: ", scaled.message()));
  return ending == kDone ? kBadInput : ending;
}

ExitCode ShowEnd(const v1::GetStatusReply& status, const StatusOptions& options,
                 ProgressDisplay& progress, const Shutdown& shutdown) {
  progress.ShowLast(status);
  return AfterTheEnd(status, options.then_scale_to_zero, shutdown);
}

// Returns whether no chief of this job has ever begun, because its file, its data or its store
// cannot be used.
bool IsRefused(const v1::GetStatusReply& status) {
  return status.state() == v1::JOB_STATE_FAILED && status.term() == 0;
}

// Returns whether the job has ended. A refused job has ended only once it has been refused, since
// `refused_since`, for as long as the options say, as a corrected file takes a while to reach the
// chief.
bool HasEnded(const v1::GetStatusReply& status, const StatusOptions& options,
              std::optional<absl::Time>& refused_since) {
  if (!IsRefused(status)) {
    refused_since.reset();
    return IsOver(status);
  }
  const absl::Time now = absl::Now();
  if (!refused_since) refused_since = now;
  return now - *refused_since >= absl::Seconds(options.refusal_patience_seconds);
}

ExitCode Watch(StatusSource& chief, const StatusOptions& options, const Shutdown& shutdown) {
  const absl::Duration limit = absl::Seconds(options.wait_seconds);
  std::optional<absl::Time> refused_since;
  Terminal terminal(STDOUT_FILENO);
  ProgressDisplay progress(terminal);
  std::optional<Keys> keys;
  if (terminal.live()) keys.emplace(STDIN_FILENO);
  while (true) {
    const absl::StatusOr<v1::GetStatusReply> status = AskPatiently(chief, limit, shutdown);
    if (shutdown.requested()) return kInterrupted;
    if (!status.ok()) {
      PrintError(std::string(status.status().message()));
      return absl::IsNotFound(status.status()) ? kBadInput : kFailed;
    }
    if (HasEnded(*status, options, refused_since))
      return ShowEnd(*status, options, progress, shutdown);
    progress.Show(*status, absl::Now());
    const bool leave =
        keys ? keys->LeaveWithin(kFramePeriod, shutdown) : shutdown.WaitFor(kFramePeriod);
    if (leave) return shutdown.requested() ? kInterrupted : options.when_left;
  }
}

ExitCode PrintOnce(const v1::GetStatusReply& status, bool json) {
  std::string text;
  if (json) {
    text = ToJson(status) + "\n";
  } else {
    const Terminal terminal(STDOUT_FILENO);
    ViewOptions view = terminal.view();
    view.height = 0;
    if (!terminal.live()) view.width = kFileWidth;
    for (const std::string& line : RenderScreen(status, {}, view)) {
      absl::StrAppend(&text, line, "\n");
    }
  }
  std::fputs(text.c_str(), stdout);  // Printable: JSON, or made of fields that are.
  return kDone;
}

ExitCode AskOnKubernetes(const StatusOptions& options) {
  const Shutdown shutdown;
  KubernetesChief chief(options.kubernetes);
  if (options.watch) return Watch(chief, options, shutdown);
  const absl::StatusOr<v1::GetStatusReply> status =
      AskPatiently(chief, absl::Seconds(options.wait_seconds), shutdown);
  if (!status.ok()) {
    PrintError(std::string(status.status().message()));
    return absl::IsNotFound(status.status()) ? kBadInput : kFailed;
  }
  const ExitCode code = PrintOnce(*status, options.json);
  if (options.json) return code;
  const absl::StatusOr<ReleasePods> pods = chief.Pods();
  if (pods.ok() && !pods->troubles.empty()) PrintLine("");
  for (const std::string& trouble : pods.ok() ? pods->troubles : std::vector<std::string>()) {
    PrintLine("pod        " + trouble);
  }
  return code;
}

// Shows the stored status of a job that has no chief, or whose chief has gone.
ExitCode ShowStored(const v1::GetStatusReply& status, const StatusOptions& options,
                    const Shutdown& shutdown) {
  if (!options.watch) return PrintOnce(status, options.json);
  Terminal terminal(STDOUT_FILENO);
  ProgressDisplay progress(terminal);
  return ShowEnd(status, options, progress, shutdown);
}

// Returns the address of the chief that trains this job now; empty: there is none.
std::string RunningChief(const StoredJob& stored, const Tls* identity) {
  if (stored.chief.empty() || IsOver(stored.status)) return "";
  const absl::StatusOr<v1::GetStatusReply> now =
      ChiefClient(stored.chief, identity).GetStatus(kStatusDeadline);
  // The chief of another job may have the port by now.
  const bool same =
      now.ok() && now->job() == stored.status.job() && now->term() == stored.status.term();
  return same ? stored.chief : "";
}

ExitCode ShowStatus(const StatusOptions& options, const Tls* identity) {
  if (!options.kubernetes.release.empty()) return AskOnKubernetes(options);
  absl::StatusOr<Target> target = FindTarget(options.folder, options.chief);
  if (!target.ok()) return ReportEnd(target.status());
  const Shutdown shutdown;
  absl::StatusOr<StoredJob> stored = absl::NotFoundError("");
  if (!target->folder.empty()) stored = ReadStoredJob(target->folder, absl::Now());
  if (target->chief.empty() && stored.ok()) target->chief = RunningChief(*stored, identity);
  if (target->chief.empty()) {
    return stored.ok() ? ShowStored(stored->status, options, shutdown) : ReportEnd(stored.status());
  }
  ChiefClient chief(target->chief, identity);
  if (options.answer_lines) {
    AnswerLines(chief, STDIN_FILENO, STDOUT_FILENO);
    return kDone;
  }
  // If the job is over, its chief is gone or will be soon.
  const bool over = stored.ok() && IsOver(stored->status);
  if (over && !chief.GetStatus(kStatusDeadline).ok())
    return ShowStored(stored->status, options, shutdown);
  if (options.watch) return Watch(chief, options, shutdown);
  const absl::Duration limit = absl::Seconds(options.wait_seconds);
  const absl::StatusOr<v1::GetStatusReply> status = AskPatiently(chief, limit, shutdown);
  if (status.ok()) return PrintOnce(*status, options.json);
  PrintError(std::string(status.status().message()));
  if (stored.ok()) return ShowStored(stored->status, options, shutdown);
  return kFailed;
}

void AddChiefOptions(CLI::App& command, StatusOptions& options) {
  CLI::Option* chief =
      command
          .add_option("--chief", options.chief,
                      "The job's chief; default: $CAPSTAN_CHIEF, or the last run of this folder")
          ->type_name("HOST:PORT");
  CLI::Option* folder = command
                            .add_option("folder", options.folder,
                                        "The job's folder, <checkpoint.uri>/<job>: what it holds, "
                                        "though nobody trains it; or "
                                        "the --run-dir of a run")
                            ->type_name("FOLDER")
                            ->excludes(chief);
  CLI::Option* kubernetes = command
                                .add_option("--kubernetes", options.kubernetes.release,
                                            "A Helm release, asked with kubectl in its chief's pod")
                                ->type_name("RELEASE")
                                ->excludes(chief)
                                ->excludes(folder);
  command
      .add_option("--namespace", options.kubernetes.kube_namespace,
                  "Of the release; default: that of kubectl's context")
      ->needs(kubernetes);
  command.add_option("--wait", options.wait_seconds, "How long to wait for an answer")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void CallBack(CLI::App& command, std::shared_ptr<StatusOptions> options, Invocation& invocation) {
  command.callback([options, &invocation] {
    invocation.run = [options, &invocation] { return ShowStatus(*options, invocation.identity); };
  });
}

}  // namespace

void AddStatus(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<StatusOptions>();
  CLI::App* status = app.add_subcommand("status", "Show how a job goes");
  AddChiefOptions(*status, *options);
  auto* watch = status->add_flag("--watch", options->watch, "Stay, and show it live");
  auto* json = status->add_flag("--json", options->json, "As JSON, for programs")->excludes(watch);
  status
      ->add_flag("--answer-lines", options->answer_lines,
                 "As JSON, once for each line of standard input, for a command that asks again and "
                 "again; ends with it")
      ->excludes(watch)
      ->excludes(json)
      ->excludes("folder")
      ->excludes("--kubernetes");
  status
      ->add_option("--refusal-patience", options->refusal_patience_seconds,
                   "How long a job that is refused may be corrected before that is its end")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber)
      ->needs(watch);
  status
      ->add_option("--then-scale-to-zero", options->then_scale_to_zero,
                   "In a pod: scale the workers when the job is over, completed or failed")
      ->type_name("DEPLOYMENT")
      ->needs(watch);
  status->footer(
      "Example:\n  capstan status --chief ctr-chief:7000 --watch\n"
      "  capstan status out/ctr\n"
      "  capstan status --kubernetes ctr");
  CallBack(*status, options, invocation);
}

void AddTop(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<StatusOptions>();
  options->watch = true;
  options->when_left = kDone;  // The command shows how a job goes, so leaving it is no failure.
  CLI::App* top = app.add_subcommand("top", "Show how a job goes, live, as status --watch");
  AddChiefOptions(*top, *options);
  top->footer("Example:\n  capstan top --kubernetes ctr\n\nq leaves; the job goes on.");
  CallBack(*top, options, invocation);
}

}  // namespace capstan::cli
