#include "capstan/process/flags.h"

#include <CLI/CLI.hpp>

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
  app.set_version_flag("--version", VersionLine(program));
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
