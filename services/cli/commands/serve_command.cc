// capstan serve: a trained model behind HTTP, always its newest version.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "capstan/base/host_port.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "capstan/http/http_server.h"
#include "cli/commands/command.h"
#include "cli/model/stored_job.h"
#include "cli/serve/inference_service.h"
#include "cli/serve/served_model.h"

namespace capstan::cli {
namespace {

struct ServeOptions {
  std::string model;
  std::string name;
  bool wait = false;
  HttpServer::Options http = {.port = 8080};
  double every_seconds = 10;
};

// Also to who reads a pipe, at once.
void Say(const std::string& line) {
  PrintLine(line);
  std::fflush(stdout);
}

// The last part of a path or an address.
std::string LastName(const std::string& uri) {
  const absl::string_view path = absl::StripSuffix(uri, "/");
  return std::string(path.substr(path.find_last_of('/') + 1));
}

std::string WhatIsServed(const ServedModel& model) {
  return absl::StrCat("serving ", model.job().job(), ", version ", model.version());
}

// Puts the newest model in the place of the one that is served. NOT_FOUND: there is none. One that
// cannot be read, as it is being deleted, changes nothing.
absl::Status Follow(const std::string& uri, InferenceService& service) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string newest, ModelIn(uri));
  const std::shared_ptr<ServedModel> served = service.model();
  if (served != nullptr && newest == served->folder()) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(std::shared_ptr<ServedModel> model, ServedModel::Load(newest));
  Say(WhatIsServed(*model));
  service.Replace(std::move(model));
  return absl::OkStatus();
}

// Follows for as long as the process is to run. `now`: begins at once.
void FollowUntil(const Shutdown& shutdown, const ServeOptions& options, bool now,
                 InferenceService& service) {
  std::string complaint;
  while (now || !shutdown.WaitFor(absl::Seconds(options.every_seconds))) {
    now = false;
    const absl::Status status = Follow(options.model, service);
    const bool expected = absl::IsNotFound(status) && service.model() == nullptr;
    const std::string message(expected ? "" : status.message());
    if (!message.empty() && message != complaint) {
      PrintError(absl::StrCat("the newest version cannot be taken: ", message));
    }
    complaint = message;
  }
}

absl::Status RunServe(const ServeOptions& options) {
  std::shared_ptr<ServedModel> model;
  if (!options.wait) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::string folder, FindModel(options.model));
    CAPSTAN_ASSIGN_OR_RETURN(model, ServedModel::Load(folder));
  }
  // The folder of a job has its name.
  std::string name = options.name;
  if (name.empty()) name = options.wait ? LastName(options.model) : model->job().job();
  const std::string what =
      options.wait ? absl::StrCat("looking for a version of ", name) : WhatIsServed(*model);
  InferenceService service(name);
  if (!options.wait) service.Replace(std::move(model));
  const Shutdown shutdown;
  CAPSTAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<HttpServer> server,
      HttpServer::Start(options.http, [&service](const HttpQuestion& question) {
        return service.Answer(question);
      }));
  Say(absl::StrCat(what, ", at http://", JoinHostPort(options.http.host, server->port()),
                   "/v2/models/", name));
  FollowUntil(shutdown, options, /*now=*/options.wait, service);
  return absl::OkStatus();
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
  serve->add_option("--name", options->name, "The model's name; default: the job's");
  serve->add_flag("--wait", options->wait,
                  "Listen at once, not ready before there is a version and it is read");
  serve->add_option("--host", options->http.host, "Where to listen")->capture_default_str();
  serve->add_option("--port", options->http.port, "0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  serve->add_option("--threads", options->http.threads, "Connections that are served at a time")
      ->check(CLI::Range(1, 1000))
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
      "    \"datatype\": \"BYTES\", \"shape\": [1], \"data\": [\"68fd1e64,80e26c9b\"]}]}'\n\n"
      "The Open Inference Protocol (KServe's V2): docs/serve.md. It ends with SIGTERM.");
  serve->callback([options, &invocation] {
    invocation.run = [options] { return ReportEnd(RunServe(*options)); };
  });
}

}  // namespace capstan::cli
