#include <grpcpp/client_context.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "capstan/base/member_states.h"
#include "capstan/base/status.h"
#include "capstan/http/http.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/status.h"
#include "cli/commands/command.h"
#include "cli/status/chief_client.h"
#include "cli/terminal/format.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kProbeDeadline = absl::Seconds(5);
constexpr uint64_t kMostMetrics = uint64_t{64} << 20;
constexpr absl::Duration kPause = absl::Milliseconds(500);

struct CheckOptions {
  std::string chief;
  int health_port = 7001;
  int metrics_port = 9090;
  double wait_seconds = 10;
  bool checkpoint = false;
};

// Returns OK, or what is wrong.
absl::Status CheckReady(const std::string& host, int port) {
  const auto stub =
      grpc::health::v1::Health::NewStub(NewPlainChannel(absl::StrCat(host, ":", port)));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kProbeDeadline));
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("readiness");
  grpc::health::v1::HealthCheckResponse reply;
  const absl::Status status = FromGrpcStatus(stub->Check(&context, request, &reply));
  if (!status.ok()) return status;
  if (reply.status() == grpc::health::v1::HealthCheckResponse::SERVING) return absl::OkStatus();
  return absl::UnavailableError("it is not ready");
}

// Returns how many of Capstan's series a process exposes.
absl::StatusOr<int64_t> CountSeries(const std::string& host, int port) {
  const std::string url = absl::StrCat("http://", host, ":", port, "/metrics");
  CAPSTAN_ASSIGN_OR_RETURN(const HttpResponse page, NewCurlHttp({.allow_http = true})
                                                        ->Send({.method = "GET",
                                                                .url = url,
                                                                .timeout = kProbeDeadline,
                                                                .most_body = kMostMetrics,
                                                                .direct = true}));
  if (page.status != 200) {
    return absl::FailedPreconditionError(absl::StrCat(url, ": answered ", page.status));
  }
  const std::vector<absl::string_view> lines = absl::StrSplit(page.body, '\n');
  const int64_t count = std::count_if(lines.begin(), lines.end(), [](absl::string_view line) {
    return absl::StartsWith(line, "capstan_");
  });
  if (count > 0) return count;
  return absl::FailedPreconditionError("its metrics are not those of Capstan");
}

struct Findings {
  std::string lines;
  bool well = true;
  bool answered = false;  // Some process has answered at one of the ports that are asked.
};

void LookAtProcess(const std::string& name, const std::string& address, const CheckOptions& options,
                   Findings& findings) {
  const std::string host = address.substr(0, address.rfind(':'));
  const absl::Status ready = CheckReady(host, options.health_port);
  const absl::StatusOr<int64_t> series = CountSeries(host, options.metrics_port);
  const std::string health = ready.ok() ? "ready" : std::string(ready.message());
  const std::string metrics = series.ok() ? absl::StrCat(*series, " series of metrics")
                                          : std::string(series.status().message());
  absl::StrAppend(&findings.lines, absl::StrFormat("%-8s ", name), Printable(host), ": ",
                  Printable(health), ", ", Printable(metrics), "\n");
  findings.well = findings.well && ready.ok() && series.ok();
  findings.answered = findings.answered || ready.ok() || series.ok();
}

absl::StatusOr<Findings> LookAtAll(ChiefClient& chief, const CheckOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const v1::GetStatusReply status, chief.GetStatus(kProbeDeadline));
  Findings findings;
  LookAtProcess("chief", options.chief, options, findings);
  for (const v1::ShardStatus& shard : status.shards()) {
    LookAtProcess(absl::StrCat("ps-", shard.index()), shard.address(), options, findings);
  }
  const bool serve =
      !status.shards().empty() &&
      std::all_of(status.shards().begin(), status.shards().end(),
                  [](const v1::ShardStatus& one) { return one.state() == shard_state::kServing; });
  if (!serve) absl::StrAppend(&findings.lines, "not every shard serves\n");
  // A shard that has not registered yet is not in the status.
  const std::string& awaited = status.waiting_for();
  if (!awaited.empty()) {
    absl::StrAppend(&findings.lines, "the job waits for ", Printable(awaited), "\n");
  }
  findings.well = findings.well && serve && awaited.empty();
  return findings;
}

// Whether a chief is asked on this machine, as that of a job of `capstan train` is.
bool IsOfThisMachine(const std::string& chief) {
  return absl::StartsWith(chief, "127.") || absl::StartsWith(chief, "localhost:") ||
         absl::StartsWith(chief, "[::1]:");
}

// Also true for a job that takes no checkpoints: it has ended, or saves nothing.
bool TakeCheckpoint(ChiefClient& chief, absl::Duration limit) {
  const absl::StatusOr<std::string> uri = chief.TakeCheckpoint(limit);
  const std::string said = uri.ok() ? *uri : std::string(uri.status().message());
  std::printf("%-8s %s\n", "saved", Printable(said).c_str());
  return uri.ok() || absl::IsFailedPrecondition(uri.status());
}

// Checks that fail are repeated until the time is over, as the job may just have been installed.
ExitCode Check(const CheckOptions& options, const Tls* identity) {
  ChiefClient chief(options.chief, identity);
  const absl::Duration limit = absl::Seconds(options.wait_seconds);
  const absl::Time deadline = absl::Now() + limit;
  absl::StatusOr<Findings> findings = LookAtAll(chief, options);
  while ((!findings.ok() || !findings->well) && absl::Now() < deadline) {
    absl::SleepFor(kPause);
    findings = LookAtAll(chief, options);
  }
  if (!findings.ok()) {
    PrintError(std::string(findings.status().message()));
    return kFailed;
  }
  std::fputs(findings->lines.c_str(), stdout);  // Printable: made of fields that are.
  if (!findings->answered && IsOfThisMachine(options.chief)) {
    PrintLine(
        "the processes of `capstan train` have their health and metrics at ports of their own, not "
        "at those asked here; `capstan status` tells how such a job is");
  }
  const bool saved = !options.checkpoint || TakeCheckpoint(chief, limit);
  return findings->well && saved ? kDone : kFailed;
}

}  // namespace

void AddCheck(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* check =
      app.add_subcommand("check", "Ask chief and shards of a job, each by itself, how they are");
  check->add_option("--chief", options->chief, "The job's chief")
      ->type_name("HOST:PORT")
      ->envname("CAPSTAN_CHIEF")
      ->required();
  check->add_option("--health-port", options->health_port, "On each host")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  check->add_option("--metrics-port", options->metrics_port, "On each host")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  check->add_option("--wait", options->wait_seconds, "For the shards, and for a checkpoint")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  check->add_flag("--checkpoint", options->checkpoint, "Have a checkpoint taken, if the job runs");
  check->footer("Example:\n  capstan check --chief ctr-chief:7000 --checkpoint");
  check->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return Check(*options, invocation.identity); };
  });
}

}  // namespace capstan::cli
