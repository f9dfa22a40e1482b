#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/ports_file.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "cli/chief_client.h"
#include "cli/cluster_api.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/kubectl.h"
#include "cli/progress.h"
#include "cli/run_folder.h"
#include "cli/status_view.h"
#include "cli/terminal.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kFramePeriod = absl::Milliseconds(500);
constexpr absl::Duration kStatusDeadline = absl::Seconds(2);
constexpr absl::Duration kComplainEvery = absl::Seconds(3);
constexpr absl::Duration kClusterPatience = absl::Minutes(1);
constexpr absl::Duration kClusterPause = absl::Seconds(2);

struct StatusOptions {
  std::string chief;
  KubernetesJob kubernetes;  // With a release: it is asked there.
  double wait_seconds = 10;
  bool watch = false;
  std::string then_scale_to_zero;  // The workers' Deployment; empty: nothing.
  bool json = false;
};

// Where the chief is that the user means: as told, by $CAPSTAN_CHIEF, or that of the last
// `capstan train` started in this folder.
absl::StatusOr<std::string> FindChief(const std::string& told) {
  if (!told.empty()) return told;
  if (const char* address = std::getenv("CAPSTAN_CHIEF"); address != nullptr) return address;
  const absl::StatusOr<Ports> ports =
      ReadPortsFile(absl::StrCat(kRunsFolder, "/latest/chief.ports"));
  if (ports.ok()) return absl::StrCat("127.0.0.1:", ports->data);
  return absl::InvalidArgumentError(
      "which chief? Say --chief host:port or set CAPSTAN_CHIEF; no run was started in this folder");
}

// Asks again while nobody answers, and says so every few seconds.
absl::StatusOr<v1::GetStatusReply> AskPatiently(ChiefClient& chief, absl::Duration limit,
                                                const Shutdown& shutdown) {
  const absl::Time start = absl::Now();
  absl::Time complain = start + kComplainEvery;
  while (true) {
    absl::StatusOr<v1::GetStatusReply> status = chief.GetStatus(kStatusDeadline);
    const absl::Time now = absl::Now();
    if (status.ok() || now - start >= limit) return status;
    if (now >= complain) {
      PrintError(absl::StrCat(status.status().message(), "; waiting, ",
                              ShortDuration(start + limit - now), " more"));
      complain += kComplainEvery;
    }
    if (shutdown.WaitFor(kFramePeriod)) return absl::CancelledError("interrupted");
  }
}

// In a pod of the cluster. Tries again while the API server is away.
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

// What `capstan status --watch` ends with when the job has. A training that failed is told as that,
// whatever becomes of its workers.
ExitCode AfterTheEnd(const v1::GetStatusReply& status, const std::string& deployment,
                     const Shutdown& shutdown) {
  const ExitCode ending = status.state() == v1::JOB_STATE_COMPLETED ? kDone : kFailed;
  if (deployment.empty()) return ending;
  const absl::Status scaled = ScaleToZero(deployment, shutdown);
  if (scaled.ok()) {
    std::printf("scaled %s to 0\n", deployment.c_str());
    return ending;
  }
  PrintError(absl::StrCat("the workers stay: ", scaled.message()));
  return ending == kDone ? kBadInput : ending;
}

ExitCode Watch(ChiefClient& chief, const StatusOptions& options, const Shutdown& shutdown) {
  const absl::Duration limit = absl::Seconds(options.wait_seconds);
  Terminal terminal(STDOUT_FILENO);
  Progress progress(terminal);
  while (true) {
    const absl::StatusOr<v1::GetStatusReply> status = AskPatiently(chief, limit, shutdown);
    if (shutdown.requested()) return kDone;
    if (!status.ok()) {
      PrintError(std::string(status.status().message()));
      return kFailed;
    }
    if (IsOver(*status)) {
      progress.ShowLast(*status);
      return AfterTheEnd(*status, options.then_scale_to_zero, shutdown);
    }
    progress.Show(*status, absl::Now());
    if (shutdown.WaitFor(kFramePeriod)) return kDone;
  }
}

ExitCode PrintOnce(const v1::GetStatusReply& status, bool json) {
  std::string text;
  if (json) {
    google::protobuf::util::JsonPrintOptions options;
    options.always_print_primitive_fields = true;
    options.preserve_proto_field_names = true;
    // Cannot fail: a status holds no Any.
    (void)google::protobuf::util::MessageToJsonString(status, &text, options);
    text += '\n';
  } else {
    ViewOptions view = Terminal(STDOUT_FILENO).view();
    view.height = 0;
    for (const std::string& line : RenderScreen(status, {}, view)) {
      absl::StrAppend(&text, line, "\n");
    }
  }
  std::fputs(text.c_str(), stdout);
  return kDone;
}

ExitCode AskOnKubernetes(const StatusOptions& options) {
  std::vector<std::string> arguments = {"status", absl::StrCat("--wait=", options.wait_seconds)};
  if (options.watch) arguments.push_back("--watch");
  if (options.json) arguments.push_back("--json");
  const absl::Status status = RunBesideChief(options.kubernetes, arguments);
  PrintError(std::string(status.message()));
  return absl::IsNotFound(status) ? kBadInput : kFailed;
}

ExitCode ShowStatus(const StatusOptions& options) {
  if (!options.kubernetes.release.empty()) return AskOnKubernetes(options);
  const absl::StatusOr<std::string> address = FindChief(options.chief);
  if (!address.ok()) {
    PrintError(std::string(address.status().message()));
    return kBadInput;
  }
  const Shutdown shutdown;
  ChiefClient chief(*address);
  const absl::Duration limit = absl::Seconds(options.wait_seconds);
  if (options.watch) return Watch(chief, options, shutdown);
  const absl::StatusOr<v1::GetStatusReply> status = AskPatiently(chief, limit, shutdown);
  if (status.ok()) return PrintOnce(*status, options.json);
  PrintError(std::string(status.status().message()));
  return kFailed;
}

void AddChiefOptions(CLI::App& command, StatusOptions& options) {
  CLI::Option* chief =
      command
          .add_option("--chief", options.chief,
                      "The job's chief; default: $CAPSTAN_CHIEF, or the last run of this folder")
          ->type_name("HOST:PORT");
  CLI::Option* kubernetes = command
                                .add_option("--kubernetes", options.kubernetes.release,
                                            "A Helm release, asked with kubectl in its chief's pod")
                                ->type_name("RELEASE")
                                ->excludes(chief);
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
  command.callback(
      [options, &invocation] { invocation.run = [options] { return ShowStatus(*options); }; });
}

}  // namespace

void AddStatus(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<StatusOptions>();
  CLI::App* status = app.add_subcommand("status", "Show how a job goes");
  AddChiefOptions(*status, *options);
  auto* watch = status->add_flag("--watch", options->watch, "Stay, and show it live");
  status->add_flag("--json", options->json, "As JSON, for programs")->excludes(watch);
  status
      ->add_option("--then-scale-to-zero", options->then_scale_to_zero,
                   "In a pod: scale the workers when the job is over, completed or failed")
      ->type_name("DEPLOYMENT")
      ->needs(watch);
  status->footer(
      "Example:\n  capstan status --chief ctr-chief:7000 --watch\n"
      "  capstan status --kubernetes ctr");
  CallBack(*status, options, invocation);
}

void AddTop(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<StatusOptions>();
  options->watch = true;
  CLI::App* top = app.add_subcommand("top", "Show how a job goes, live, as status --watch");
  AddChiefOptions(*top, *options);
  top->footer("Example:\n  capstan top --kubernetes ctr");
  CallBack(*top, options, invocation);
}

}  // namespace capstan::cli
