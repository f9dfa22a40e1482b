// The PS shard: holds a share of the parameters, answers pulls, applies pushes.
#include <CLI/CLI.hpp>
#include <string>

#include "capstan/base/exit_code.h"
#include "capstan/base/log.h"
#include "capstan/base/version.h"
#include "ps/ps_process.h"

int main(int argc, char** argv) {
  capstan::ps::ProcessOptions options;
  CLI::App app("Capstan's PS shard: holds parameters, answers pulls, applies pushes.");
  app.add_option("--chief", options.chief, "host:port of the chief")->required();
  app.add_option("--index", options.index, "which shard this is; default: the hostname's ordinal")
      ->check(CLI::Range(0, 9999));
  app.add_option("--listen", options.listen, "host:port for pulls and pushes; port 0: any free one")
      ->capture_default_str();
  app.add_option("--advertise", options.advertise, "host:port that others are told");
  app.add_option("--health-port", options.health_port, "0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--metrics-port", options.metrics_port, "0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--ports-file", options.ports_file, "write the chosen ports to this file");
  app.add_option("--log-format", options.log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--chief-deadline", options.chief_deadline_seconds,
                 "seconds to wait for the chief before giving up")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--grace", options.grace_seconds,
                 "seconds from SIGTERM until it leaves without the chief's consent")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.set_version_flag("--version", capstan::VersionLine("ps"));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const absl::Status end = capstan::ps::RunPs(options);
  if (end.ok()) return 0;
  capstan::log::Error(std::string(end.message()));
  return capstan::ExitCodeOf(end);
}
