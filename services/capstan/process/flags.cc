#include "capstan/process/flags.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "capstan/base/host_port.h"
#include "capstan/base/version.h"

namespace capstan {
namespace {

constexpr int kMostPorts = 65535;

}  // namespace

void AddServiceFlags(CLI::App& app, const std::string& program, ServiceOptions& options) {
  app.add_option("--health-port", options.health_port, "0: any free one")
      ->check(CLI::Range(0, kMostPorts))
      ->capture_default_str();
  app.add_option("--metrics-port", options.metrics_port, "0: any free one")
      ->check(CLI::Range(0, kMostPorts))
      ->capture_default_str();
  app.add_option("--ports-file", options.ports_file, "write the chosen ports to this file");
  app.add_option("--log-format", options.log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--trace", options.trace,
                 "append the events of the protocols to this file, for docs/spec/replay")
      ->envname("CAPSTAN_TRACE");
  app.add_flag(
      "--core-dumps", options.core_dumps,
      "leave the limit of core dumps as it is; default: none, as they hold parameters and keys");
  app.add_option("--tls", options.tls,
                 "folder with tls.crt, tls.key, ca.crt: mutual TLS; default: plaintext")
      ->envname("CAPSTAN_TLS")
      ->type_name("FOLDER");
  app.set_version_flag("--version", VersionLine(program));
}

std::string AddressMistake(const std::string& address) {
  if (SplitHostPort(address)) return "";
  return absl::StrCat(address, " is not host:port, with a port from 0 to ", kMostPorts);
}

std::optional<int> ParseFlags(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace capstan
