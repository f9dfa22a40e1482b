// capstan serve: a trained model behind HTTP, always its newest version.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/base/host_port.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "capstan/http/http_server.h"
#include "capstan/metrics/server.h"
#include "cli/commands/command.h"
#include "cli/model/stored_job.h"
#include "cli/serve/inference_service.h"
#include "cli/serve/model_follower.h"
#include "cli/serve/program_pool.h"
#include "cli/serve/served_model.h"

namespace capstan::cli {
namespace {

constexpr int kHealthThreads = 4;
// Connections are kept open only briefly, as there are so few threads.
constexpr absl::Duration kHealthKeepAlive = absl::Milliseconds(500);
// How long the end of the server waits for a version that is being read.
constexpr absl::Duration kReading = absl::Seconds(1);

struct ServeOptions {
  std::string model;
  std::string name;
  bool wait = false;
  HttpServer::Options http = {.port = 8080};
  ProgramOptions program;
  double timeout_seconds = 30;  // program.patience
  std::optional<int> health_port;
  std::optional<int> metrics_port;
  double every_seconds = 10;
  double linger_seconds = 0;
  double keep_alive_seconds = 5;  // http.keep_alive
};

// Flushed, so that a reader of a pipe has the line at once.
void Say(const std::string& line) {
  PrintLine(line);
  std::fflush(stdout);
}

std::string WhatIsServed(const ServedModel& model) {
  return absl::StrCat("serving ", model.job().job(), ", version ", model.version());
}

// The ports at which the server answers.
struct Listeners {
  std::unique_ptr<HttpServer> requests;
  std::unique_ptr<HttpServer> health;        // Null: not asked for.
  std::unique_ptr<metrics::Server> metrics;  // Null: not asked for.
};

absl::StatusOr<Listeners> Listen(const ServeOptions& options, InferenceService& service) {
  Listeners ports;
  CAPSTAN_ASSIGN_OR_RETURN(ports.requests,
                           HttpServer::Start(options.http, [&service](const HttpQuestion& asked) {
                             return service.Answer(asked);
                           }));
  if (options.health_port) {
    const HttpServer::Options health = {.host = options.http.host,
                                        .port = *options.health_port,
                                        .threads = kHealthThreads,
                                        .keep_alive = kHealthKeepAlive};
    CAPSTAN_ASSIGN_OR_RETURN(ports.health,
                             HttpServer::Start(health, [&service](const HttpQuestion& asked) {
                               return service.AnswerOfHealth(asked);
                             }));
  }
  if (options.metrics_port) {
    CAPSTAN_ASSIGN_OR_RETURN(
        ports.metrics,
        metrics::Server::Start(service.registry(), options.http.host, *options.metrics_port));
  }
  return ports;
}

absl::Status RunServe(const ServeOptions& options) {
  std::shared_ptr<ServedModel> model;
  if (!options.wait) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::string folder, FindModel(options.model));
    CAPSTAN_ASSIGN_OR_RETURN(model, ServedModel::Load(folder, options.program));
  }
  std::string name = options.name;
  if (name.empty()) name = options.wait ? NameOfFolder(options.model) : model->job().job();
  const std::string what =
      options.wait ? absl::StrCat("looking for a version of ", name) : WhatIsServed(*model);
  InferenceService service(name);
  if (!options.wait) service.Replace(std::move(model));
  const Shutdown shutdown;
  CAPSTAN_ASSIGN_OR_RETURN(Listeners ports, Listen(options, service));
  Say(absl::StrCat(what, ", at http://", JoinHostPort(options.http.host, ports.requests->port()),
                   "/v2/models/", name));
  if (ports.health) {
    Say(absl::StrCat("health at ", JoinHostPort(options.http.host, ports.health->port())));
  }
  if (ports.metrics) {
    Say(absl::StrCat("metrics at ", JoinHostPort(options.http.host, ports.metrics->port())));
  }
  const SteadyClock clock;
  const ModelFollower follower(
      {.uri = options.model,
       .every = absl::Seconds(options.every_seconds),
       .at_once = options.wait,
       .load =
           [&options](const std::string& folder) {
             return ServedModel::Load(folder, options.program);
           },
       .ends = [&shutdown](absl::Duration timeout) { return shutdown.WaitFor(timeout); },
       .taken = [](const ServedModel& taken) { Say(WhatIsServed(taken)); },
       .failed =
           [](const absl::Status& why) {
             PrintError(absl::StrCat("the newest version cannot be taken: ", why.message()));
           }},
      service, clock);
  while (!shutdown.WaitFor(absl::Hours(1))) {
  }
  service.Leave();
  ports.requests->BeginToClose();
  absl::SleepFor(absl::Seconds(options.linger_seconds));
  ports.requests.reset();  // Requests under way are answered first.
  // The version that is being loaded will never be served, so it is not waited for.
  if (!follower.WaitForEnd(kReading)) std::_Exit(0);
  return absl::OkStatus();
}

// Adds the options for the user's program that computes the model.
void AddProgram(CLI::App& serve, ServeOptions& options) {
  CLI::Option* const program = serve.add_option(
      "--program", options.program.command,
      "The command of your own program, which computes the model, where model.user names it: one "
      "simple command, as 'env X=1 python3 model.py', or a script");
  serve
      .add_option("--processes", options.program.processes,
                  "Of the program; each computes a request at a time")
      ->needs(program)
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  serve
      .add_option("--timeout", options.timeout_seconds,
                  "Seconds that the program may take for a request")
      ->needs(program)
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
}

}  // namespace

void AddServe(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* serve = app.add_subcommand("serve", "Answer requests for scores over HTTP");
  serve
      ->add_option("model", options->model,
                   "Folder of a job, whose newest version is served, a checkpoint or an exported "
                   "model")
      ->required()
      ->type_name("FOLDER");
  serve->add_option("--name", options->name,
                    "The model's name; default: the job's, or with --wait the folder's");
  serve->add_flag("--wait", options->wait,
                  "Listen at once, not ready before there is a version and it is read");
  AddProgram(*serve, *options);
  serve->add_option("--host", options->http.host, "Where to listen")->capture_default_str();
  serve->add_option("--port", options->http.port, "0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  serve->add_option("--threads", options->http.threads, "Connections that are served at a time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  serve
      ->add_option("--keep-alive", options->keep_alive_seconds,
                   "Seconds without a request after which a connection is closed; more than those "
                   "for which a proxy keeps its own")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  serve
      ->add_option("--health-port", options->health_port,
                   "A port of its own for /v2/health/live and /v2/health/ready")
      ->check(CLI::Range(0, 65535));
  serve->add_option("--metrics-port", options->metrics_port, "A port of its own for /metrics")
      ->check(CLI::Range(0, 65535));
  serve
      ->add_option("--linger", options->linger_seconds,
                   "Seconds to answer on after SIGTERM, not ready, until nobody asks any more")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  serve
      ->add_option("--every", options->every_seconds,
                   "Seconds between two looks for a newer version")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  serve->footer(
      "Example:\n"
      "  capstan serve out/ctr --port 8080\n"
      "  curl localhost:8080/v2/models/ctr/infer -d '{\"inputs\": [{\"name\": \"records\",\n"
      "    \"datatype\": \"BYTES\", \"shape\": [1], \"data\": [\"68fd1e64,80e26c9b\"]}]}'\n"
      "  capstan serve out/ctr --program 'python3 deepfm.py'\n\n"
      "The Open Inference Protocol (KServe's V2): docs/serve.md. It ends with SIGTERM.");
  serve->callback([options, &invocation] {
    options->http.keep_alive = absl::Seconds(options->keep_alive_seconds);
    options->program.patience = absl::Seconds(options->timeout_seconds);
    options->program.tell = [](const std::string& line) { PrintError(line); };
    invocation.run = [options] { return ReportEnd(RunServe(*options)); };
  });
}

}  // namespace capstan::cli
