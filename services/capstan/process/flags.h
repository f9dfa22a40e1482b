// The part of a command line that chief, ps and worker share.
#ifndef CAPSTAN_PROCESS_FLAGS_H_
#define CAPSTAN_PROCESS_FLAGS_H_

#include <optional>
#include <string>

#include "capstan/process/service.h"

namespace CLI {
class App;
}

namespace capstan {

// Adds --health-port, --metrics-port, --ports-file, --log-format, --trace, --core-dumps, --tls and
// --version. The values of `options` are the defaults. `options` must outlive the parsing.
void AddServiceFlags(CLI::App& app, const std::string& program, ServiceOptions& options);

// Validates a flag: returns what is wrong with `address`, which should be host:port; empty if
// nothing is. Ports above 65535 are refused, as gRPC would interpret them as other ports.
std::string AddressMistake(const std::string& address);

// Parses the command line. If the process should end, returns its exit code after printing the
// text: 0 for --help or --version, 2 for a mistake.
std::optional<int> ParseFlags(CLI::App& app, int argc, char** argv);

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_FLAGS_H_
